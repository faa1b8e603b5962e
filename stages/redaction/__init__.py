"""Secrets and personal data taken out; the one maker of ``CleanText``.

May import: stages/text, stages/capture.
"""
