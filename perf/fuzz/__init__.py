"""Hostile input at every door of a real daemon: ``make fuzz``."""
