//go:build !linux

package journal

// Preallocate is a hint that only Linux takes.
func (osFile) Preallocate(int64) error { return nil }
