//go:build linux && !amd64 && !arm64

package sandbox

// launchCode returns nil: no launcher is written for this processor.
func launchCode() []byte { return nil }

const launchMachine = 0
