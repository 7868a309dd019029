"""The named template sets of the parser; see templates.py for how they are written."""

from __future__ import annotations

# After Huang & Sagae 2010: words and tags of the top of the stack and of the buffer, tags of outermost children. It
# reads no relations, so that many states look alike and merge.
BASIC = """
s0.w
s0.t
s0.wt
s1.w
s1.t
s1.wt
q0.w
q0.t
q0.wt
s0.w s1.w
s0.t s1.t
s0.t q0.t
s0.wt s1.t
s0.t s1.wt
s0.w s1.wt
s0.wt s1.w
s0.wt s1.wt
s0.t q0.t q1.t
s1.t s0.t q0.t
s0.w q0.t q1.t
s1.t s0.w q0.t
s1.t s1.l.t s0.t
s1.t s1.r.t s0.t
s1.t s0.t s0.l.t
s1.t s0.t s0.r.t
s1.t s1.l.t s0.w
s1.t s1.r.t s0.w
s1.t s0.w s0.l.t
s2.t s1.t s0.t
"""

# More of the same, and what Zhang & Nivre 2011 added: distance, valency, second children, sets of relations
MORE = """
q1.w
q1.t
q1.wt
q2.t
q2.wt
s2.t
s2.w
s0.w q0.w
s0.wt q0.t
s0.t q0.wt
s0.wt q0.wt
s1.t q0.t
s1.w q0.w
s1.wt q0.t
q0.t q1.t
q0.t q1.t q2.t
s1.t q0.t q1.t
s0.u s1.u
s0.u s1.u q0.u
s0.wu s1.u
s0.u s1.wu
s0.f s1.f
s0.m s1.m
s0.m s1.u
s0.u s1.m
s0.u q0.m
s0.m q0.u

s0.w distance
s0.t distance
s1.w distance
s1.t distance
s0.w s1.w distance
s0.t s1.t distance

s0.w s0.vl
s0.t s0.vl
s0.w s0.vr
s0.t s0.vr
s1.w s1.vl
s1.t s1.vl
s1.w s1.vr
s1.t s1.vr
s0.t s1.t s0.vl s1.vr

s0.l.w
s0.l.t
s0.l.rel
s0.r.w
s0.r.t
s0.r.rel
s1.l.w
s1.l.t
s1.l.rel
s1.r.w
s1.r.t
s1.r.rel
s0.l2.t
s0.l2.rel
s0.r2.t
s0.r2.rel
s1.l2.t
s1.l2.rel
s1.r2.t
s1.r2.rel
s0.t s0.l.t s0.l2.t
s0.t s0.r.t s0.r2.t
s1.t s1.l.t s1.l2.t
s1.t s1.r.t s1.r2.t
s0.t s0.l.rel s0.l2.rel
s0.t s0.r.rel s0.r2.rel
s1.t s1.l.rel s1.l2.rel
s1.t s1.r.rel s1.r2.rel
s0.t s1.t s1.r.rel
s0.t s1.t s0.l.rel
s0.t s1.t s1.r.w
s0.t s1.t s0.l.w
s1.t s0.t s1.r.t s0.l.t
s1.t s0.t s0.r.t q0.t

s0.w s0.sl
s0.t s0.sl
s0.w s0.sr
s0.t s0.sr
s1.w s1.sl
s1.t s1.sl
s1.w s1.sr
s1.t s1.sr
"""

# The variants of arcs to children, for parsers with hidden variants
VARIANTS = """
s0.t s0.l.rel s0.l.v
s0.t s0.r.rel s0.r.v
s1.t s1.l.rel s1.l.v
s1.t s1.r.rel s1.r.v
s0.w s0.l.rel s0.l.v
s1.w s1.r.rel s1.r.v
s0.t s1.t s0.l.rel s0.l.v
s0.t s1.t s1.r.rel s1.r.v
"""

SETS = {"basic": BASIC, "rich": BASIC + MORE, "latent": BASIC + MORE + VARIANTS}
