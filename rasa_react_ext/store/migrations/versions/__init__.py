"""One module per revision; never changed once released."""
