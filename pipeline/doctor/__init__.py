"""What `subcog doctor` looks at, and what it can mend."""
