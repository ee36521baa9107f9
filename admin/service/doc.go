// Package service serves the operators' API that package api describes: Service does the
// work, and Handler serves it as JSON over HTTP. Commands use the same handler with and
// without a server: over the admin socket, or within their own process through Local.
// What the store does is decided in the packages below; here are names, checks, roles and
// audit lines. Types of bodies, error codes and the client live in package api, metrics in
// package metrics.
package service
