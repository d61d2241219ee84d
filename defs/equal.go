package defs

import "reflect"

// equal reports whether two definitions say the same at the same place.
func (d *Definition) equal(o *Definition) bool {
	// What differs most often comes first; two readings of one file share
	// their strings, which makes these comparisons cheap.
	if d.Body != o.Body || d.Description != o.Description || d.Path != o.Path {
		return false
	}
	return reflect.DeepEqual(d, o)
}
