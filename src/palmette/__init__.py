"""Structured prediction on CPUs."""
