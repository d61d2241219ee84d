package term

import (
	"strings"
	"testing"
)

// known holds characters and the columns that a terminal with support for
// grapheme clusters (mode 2027) gives them. The numbers are from the Unicode
// tables, not from a library.
var known = []struct {
	char    string
	columns int
}{
	{"a", 1},
	{" ", 1},
	{"ü", 1},
	{"e\u0301", 1},            // with a combining accent
	{"…", 1},                  // ambiguous in East Asian texts
	{"日", 2},                  //
	{"한", 2},                  //
	{"\u1112\u1161\u11ab", 2}, // the same syllable in three parts
	{"Ａ", 2},                  // full width
	{"✅", 2},                  //
	{"🫠", 2},                  // Unicode 14
	{"🩷", 2},                  // Unicode 15
	{"❤\ufe0f", 2},            // a text character asked to be drawn as a picture
	{"1\ufe0f\u20e3", 2},      // keycap
	{"👍🏽", 2},                 // with a skin tone
	{"👩\u200d👩\u200d👧", 2},    // three joined into one
	{"🏳\ufe0f\u200d🌈", 2},     //
	{"🇩🇪", 2},                 // two letters that make a flag
	{"🧑🏿\u200d🤝\u200d🧑🏻", 2},  //
}

// columns counts the columns of text by the table, and reports false if text has
// parts that are not in it.
func columns(text string) (n int, ok bool) {
	for text != "" {
		best := -1
		for i, k := range known {
			if strings.HasPrefix(text, k.char) && (best < 0 || len(k.char) > len(known[best].char)) {
				best = i
			}
		}
		if best < 0 {
			return n, false
		}
		n, text = n+known[best].columns, text[len(known[best].char):]
	}
	return n, true
}

func TestWidthOfKnownCharacters(t *testing.T) {
	for _, k := range known {
		for _, times := range []int{1, 2, 5} {
			if text := strings.Repeat(k.char, times); Width(text) != times*k.columns {
				t.Errorf("Width(%q) = %d, want %d", text, Width(text), times*k.columns)
			}
		}
		if text := "x" + k.char + "日"; Width(text) != k.columns+3 {
			t.Errorf("Width(%q) = %d, want %d", text, Width(text), k.columns+3)
		}
	}
}

func TestCutKeepsTheWidth(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"a word here", 8, "a word…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
		{"🫠🫠🫠🫠🫠🫠", 4, "🫠…"},
		{"🫠🫠🫠🫠🫠🫠", 12, "🫠🫠🫠🫠🫠🫠"},
		{"❤\ufe0f❤\ufe0f❤\ufe0f", 5, "❤\ufe0f❤\ufe0f…"},
		{"1\ufe0f\u20e32\ufe0f\u20e33\ufe0f\u20e3", 4, "1\ufe0f\u20e3…"},
		{"👩\u200d👩\u200d👧👩\u200d👩\u200d👧", 3, "👩\u200d👩\u200d👧…"},
		{"👩\u200d👩\u200d👧👩\u200d👩\u200d👧", 4, "👩\u200d👩\u200d👧👩\u200d👩\u200d👧"},
		{"🇩🇪🇫🇷🇮🇹", 5, "🇩🇪🇫🇷…"},
		{"日", 1, "…"},
		{"a", 1, "a"},
		{"ab", 1, "…"},
		{"ab", 0, ""},
	} {
		if got := Cut(c.text, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

// FuzzLinesKeepTheWidth makes texts of characters whose columns are known.
func FuzzLinesKeepTheWidth(f *testing.F) {
	f.Add([]byte{5, 5, 1, 0, 0, 3}, uint8(5))
	f.Add([]byte{10, 10, 10, 10, 10, 10}, uint8(2))
	f.Add([]byte{13, 1, 13, 12, 0, 17, 17, 1, 1, 15}, uint8(3))
	f.Fuzz(func(t *testing.T, picks []byte, wide uint8) {
		n := 2 + int(wide)%80 // two, so that each character fits
		var text strings.Builder
		for _, p := range picks {
			text.WriteString(known[int(p)%len(known)].char)
		}
		lines := append(Fold(text.String(), n), Wrap(text.String(), n, 5)...)
		for _, line := range append(lines, Cut(text.String(), n)) {
			if got, whole := columns(line); got > n || !whole {
				t.Errorf("%q at %d columns: line %q has %d, of whole characters: %v", text.String(), n, line, got, whole)
			}
		}
	})
}

// FuzzCutAddsNothingThatActs holds Cut to what Clean promises, for any text.
func FuzzCutAddsNothingThatActs(f *testing.F) {
	f.Add("日本語 and more", 7)
	f.Add("\x1b[0m", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if got := Cut(Clean(text), n%200); strings.ContainsFunc(got, actsOnTerminal) {
			t.Errorf("Cut(%q, %d) = %q", text, n%200, got)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text   string
		n, max int
		want   string
	}{
		{"", 10, 3, ""},
		{"one two three", 20, 3, "one two three"},
		{"one two three", 7, 3, "one two|three"},
		{"one two three four", 5, 2, "one|two…"},
		{"abcdefghij kl", 4, 9, "abcd|efgh|ij|kl"},
		{"日本語 x", 4, 9, "日本|語 x"},
		{"日", 1, 9, "日"},
		{"❤\ufe0f❤\ufe0f❤\ufe0f x", 4, 9, "❤\ufe0f❤\ufe0f|❤\ufe0f x"},
	} {
		if got := strings.Join(Wrap(c.text, c.n, c.max), "|"); got != c.want {
			t.Errorf("Wrap(%q, %d, %d) = %q, want %q", c.text, c.n, c.max, got, c.want)
		}
	}
}

func TestFoldKeepsTheWidthAndTheIndentation(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 10, ""},
		{"fits", 4, "fits"},
		{"one two three", 7, "one two|three"},
		{"  if x {\n    y()", 20, "  if x {|    y()"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"日本語", 4, "日本|語"},
		{"日本", 1, "日|本"},
		{"🫠🫠 🫠🫠", 5, "🫠🫠|🫠🫠"},
		{"a\n\nb", 4, "a||b"},
		{"    abcdefgh", 8, "    abcd|efgh"},
	} {
		if got := strings.Join(Fold(c.text, c.n), "|"); got != c.want {
			t.Errorf("Fold(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
