package builtin

import "strings"

// replaced is the outcome of a search and replacement.
type replaced struct {
	text  string
	found int // occurrences of the old text
	done  int // occurrences replaced
	at    int // offset of the first replacement in text
	put   int // length of the new text there
}

// replace puts fresh in the place of old in text: everywhere if all is set,
// else only if old occurs once. A text whose lines all end in CR LF is treated
// as if they ended in LF and keeps its line ends; in a text of mixed line ends
// it searches for the exact bytes first, then the same lines ending in CR LF.
func replace(text, old, fresh string, all bool) replaced {
	if pureCRLF(text) {
		return restore(replaceExact(toLF(text), toLF(old), toLF(fresh), all))
	}
	r := replaceExact(text, old, fresh, all)
	if r.found == 0 && strings.Contains(text, "\r\n") && strings.Contains(old, "\n") {
		return replaceExact(text, toCRLF(old), toCRLF(fresh), all)
	}
	return r
}

func replaceExact(text, old, fresh string, all bool) replaced {
	r := replaced{text: text, found: strings.Count(text, old)}
	if r.found == 0 || r.found > 1 && !all {
		return r
	}
	r.text, r.done = strings.ReplaceAll(text, old, fresh), r.found
	r.at, r.put = strings.Index(text, old), len(fresh)
	return r
}

// restore turns the outcome on LF lines back into CR LF lines.
func restore(r replaced) replaced {
	first := r.text[r.at : r.at+r.put]
	r.at += strings.Count(r.text[:r.at], "\n")
	r.put += strings.Count(first, "\n")
	r.text = toCRLF(r.text)
	return r
}

// pureCRLF reports whether every line end of text is CR LF and there is no other CR.
func pureCRLF(text string) bool {
	n := strings.Count(text, "\r\n")
	return n > 0 && n == strings.Count(text, "\n") && n == strings.Count(text, "\r")
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func toCRLF(s string) string { return strings.ReplaceAll(toLF(s), "\n", "\r\n") }
