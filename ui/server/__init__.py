"""What the server does besides running pages: middleware (guards, limits, scripts), a small server, and patches."""
