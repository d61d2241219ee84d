package defs

import "reflect"

// equal reports whether two definitions have the same content and place.
func (d *Definition) equal(o *Definition) bool {
	// The fields that differ most often come first; two readings of one file share
	// their strings, which makes these comparisons cheap.
	if d.Body != o.Body || d.Description != o.Description || d.Path != o.Path {
		return false
	}
	return reflect.DeepEqual(d, o)
}
