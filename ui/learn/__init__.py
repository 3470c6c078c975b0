"""The pages for learning: Lesson, Theory and Papers."""
