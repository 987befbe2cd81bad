"""What the sample assistant talks to, and the commands that show it: play and chat."""
