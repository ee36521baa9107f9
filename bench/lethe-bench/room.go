package main

import "context"

func room(ctx context.Context, args []string) error { return nil }
