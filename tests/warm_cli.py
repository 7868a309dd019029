"""The command line in shells of tests: a process that has imported Palmette forks for each command.

    with warm_cli(folder) as environment:       # its PATH begins with a `palmette` that asks this process
        subprocess.run("palmette eval a.palm b.txt | head -1", shell=True, env=environment)

A command has the arguments, folder, environment and files of its caller, and a fresh copy of the imported modules; what
it saves is the time of importing them.
"""

from __future__ import annotations

import array
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CLIENT = """#!{python} -IS
import array, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    said = "\\0".join([os.getcwd(), *(f"{{k}}={{v}}" for k, v in os.environ.items()), "", *sys.argv[1:]]).encode()
    files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
    server.sendmsg([len(said).to_bytes(4, "little")], files)
    server.sendall(said)
    code = server.recv(1)
sys.exit(code[0] if code else 70)
"""


@contextlib.contextmanager
def warm_cli(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of commands, as long as the process runs; `folder` gets its socket and the client."""
    path, client = folder / "socket", folder / "palmette"
    client.write_text(CLIENT.format(python=sys.executable, path=str(path)), encoding="utf-8")
    client.chmod(0o755)
    process = subprocess.Popen([sys.executable, __file__, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def serve(path: str) -> None:
    import palmette

    for name in palmette.__all__:
        getattr(palmette, name)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(16)
        print("ready", flush=True)
        while True:
            asked, _ = server.accept()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if os.fork():
                asked.close()
            else:
                server.close()
                answer(asked)


def answer(asked: socket.socket) -> None:
    """In a process of its own: run the command in a further one, and send its exit code."""
    size, control, _, _ = asked.recvmsg(4, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    files = array.array("i", control[0][2])
    cwd, *rest = asked.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL).decode().split("\0")
    end = rest.index("")
    if (child := os.fork()) == 0:
        asked.close()
        for target, file in enumerate(files):
            os.dup2(file, target)
            os.close(file)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(each.split("=", 1) for each in rest[:end])
        run(rest[end + 1 :])
    for file in files:
        os.close(file)
    os.close(1)  # pipes of the caller end with the command
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    asked.sendall(bytes([status % 256]))
    os._exit(0)


def run(arguments: list[str]) -> None:
    from palmette.cli import main

    sys.argv = ["palmette", *arguments]
    main()
    sys.exit()


if __name__ == "__main__":
    serve(sys.argv[1])
