"""A worker that reaches its league over HTTP, with nothing but a token: for machines that nobody must trust."""
