//go:build pinned

// Package vegeta names the load generator that make bench builds, so that go.sum pins all of it.
package vegeta

import _ "github.com/tsenart/vegeta/v12"
