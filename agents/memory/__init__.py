"""What assistants remember: notes, their pieces, and how they are found."""
