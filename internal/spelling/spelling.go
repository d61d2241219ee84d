// Package spelling compares names that a person may have misspelt.
//
//	spelling.Slip("bahs", "bash")  // true: two neighbours have changed places
//	spelling.Near("sandbx", "sandbox")
//
// Case counts; a caller for whom it does not folds both names first.
//
// The laws:
//
//   - Slip and Near are symmetric, and true for equal names (TestComparisonsAreSymmetric).
//   - Slip reports one letter more, less or other, or two neighbours that have changed
//     places, and nothing else (TestSlips).
//   - Nearest returns a name that was known, or nothing (TestNearestIsKnown).
//   - Near reports up to two letters at one place (TestNearNames).
package spelling

import "strings"

// Slip reports whether two names differ by at most one letter, or by two neighbours that
// have changed places.
func Slip(a, b string) bool {
	a, b = difference(a, b)
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// Near reports whether two names are the same but for two letters at one place.
func Near(a, b string) bool {
	a, b = difference(a, b)
	return len(a) <= 2 && len(b) <= 2
}

// Nearest returns the known name that a person may have meant: one that only its case
// distinguishes, a Slip, one that begins with the name, or, of names with six letters and
// more, a Near one. It is "" if there is none.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	for _, is := range []func(k string) bool{
		func(k string) bool { return k == name },
		func(k string) bool { return len(name) > 1 && Slip(k, name) },
		func(k string) bool { return len(name) > 2 && strings.HasPrefix(k, name) },
		func(k string) bool { return len(name) > 5 && Near(k, name) },
	} {
		for _, k := range known {
			if is(strings.ToLower(k)) {
				return k
			}
		}
	}
	return ""
}

// difference returns two names without what they begin and end with in common.
func difference(a, b string) (restA, restB string) {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}
