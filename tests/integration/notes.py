"""What the project of a test may know: one subject in several namespaces."""

ARGON = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
NOTES = (
    (ARGON, "decisions"),
    ("Password reset tokens expire after 15 minutes, see src/auth/reset.py", "patterns"),
    ("Password login failed behind the proxy until X-Forwarded-Proto was trusted", "blockers"),
    ("The password policy test needs a fake clock, or it fails at midnight", "gotchas"),
    ("Password strength is measured with zxcvbn and must reach three", "learnings"),
)
