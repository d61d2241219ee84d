package shell

import (
	"strings"
	"testing"
)

func TestTransfersAreRead(t *testing.T) {
	texts := func(words []Word) string {
		var out []string
		for _, w := range words {
			out = append(out, w.Text)
		}
		return strings.Join(out, ",")
	}
	for text, want := range map[string]string{
		"cp -r a b c": "a,b > c", "mv a b": "a > b moves", "cp -rt d a b": "a,b > d", "cp -rtd a": "a > d", "cp --target-directory d a": "a > d", "mv --targ=d a": "a > d moves",
		"cp -r -- -a b": "-a > b", "rm -rf a b": "a,b >  moves", "rsync -rt a b": "a > b", "cp -RL a b": "a > b follows", "cp a b --dereference": "a > b follows",
		"cp --parents a b": "a > b parents", "mv --exchange a b": "a,b > a,b moves", "rsync -aR a b": "a > b parents", "nice cp a b": "a > b", "ls a b": "none", "cp a": "a > ",
	} {
		got := "none"
		if x, ok := parsed(text).Commands[0].Transfer(); ok {
			got = texts(x.From) + " > " + texts(x.To)
			for name, set := range map[string]bool{" moves": x.Moves, " follows": x.Follows, " parents": x.Parents} {
				if set {
					got += name
				}
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
