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
//   - Suggest returns names that were known, or nothing (TestSuggestionsAreKnown).
//   - Near reports up to two letters at one place (TestNearNames).
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

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

// Suggest returns at most three of the known names that name may have meant, best first:
// those within two edits of it, and those that contain it or that it contains. Case is
// ignored.
func Suggest(name string, known []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var all []candidate
	lower := strings.ToLower(name)
	for _, known := range known {
		k := strings.ToLower(known)
		far := distance(lower, k)
		if far <= 2 || lower != "" && (strings.Contains(k, lower) || strings.Contains(lower, k)) {
			all = append(all, candidate{known, far})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, c := range all[:min(len(all), 3)] {
		names = append(names, c.name)
	}
	return names
}

// distance returns the number of single-byte edits between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// DidYouMean returns the end of an error about a name that is not known: a question with the
// best of Suggest behind prefix, or nothing.
func DidYouMean(name, prefix string, known []string) string {
	if near := Suggest(name, known); len(near) > 0 {
		return "; did you mean " + prefix + near[0] + "?"
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
