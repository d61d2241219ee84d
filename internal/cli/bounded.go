package cli

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// maxOfOne bounds the warnings about one file that Bounded keeps.
const maxOfOne = 5

// fileOf matches the file that a warning starts with.
var fileOf = regexp.MustCompile(`^(/[^:]+):(\d+:)? `)

// Bounded returns warnings with a few of each file, and a line for each file that says how
// many more there are and what lists them. Those that name no file are all kept.
func Bounded(warnings []string, lister string) (kept []string) {
	about := map[string]int{}
	for _, w := range warnings {
		m := fileOf.FindStringSubmatch(w)
		if m == nil {
			kept = append(kept, w)
			continue
		}
		if about[m[1]]++; about[m[1]] <= maxOfOne {
			kept = append(kept, w)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(about)) {
		if more := about[file] - maxOfOne; more > 0 {
			kept = append(kept, fmt.Sprintf("%s: %d more; %s lists them", file, more, lister))
		}
	}
	return kept
}
