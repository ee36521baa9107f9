//go:build !failpoints

package main

import "github.com/lethe-storage/lethe/internal/app"

// hooked returns the options of a store unchanged. The build for kill tests
// (tag failpoints) adds hooks.
func hooked(o app.Options) app.Options { return o }
