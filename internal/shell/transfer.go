package shell

import (
	"path"
	"strings"
)

// Transfer is what a command does with its operands and, if they are directories, with
// all that these hold.
type Transfer struct {
	// From are the operands that it copies, moves or removes.
	From []Word
	// To are the names under which, or the directories in which, From may appear. There are
	// none if the command removes.
	To []Word
	// Moves is set if From is no longer there afterwards.
	Moves bool
	// Follows is set if what links lead to may be copied.
	Follows bool
	// Parents is set if the names of From appear with the directories above them.
	Parents bool
}

// Transfer returns what a command copies, moves or removes with all that it holds. The
// second result is false for other commands.
func (c *Command) Transfer() (Transfer, bool) {
	words, _ := Strip(c.Words)
	if len(words) == 0 {
		return Transfer{}, false
	}
	switch name := path.Base(words[0].Text); name {
	case "rm":
		return Transfer{From: Operands(words), Moves: true}, true
	case "cp", "mv", "rsync":
		t := Transfer{Moves: name == "mv"}
		t.readWords(words[1:], name != "rsync")
		return t, true
	}
	return Transfer{}, false
}

// readWords reads operands and options. hasTarget states that the option -t names the
// destination.
func (t *Transfer) readWords(words []Word, hasTarget bool) {
	exchange := false
	for len(words) > 0 {
		w := words[0]
		words = words[1:]
		switch {
		case w.Text == "--":
			t.From, words = append(t.From, words...), nil
		case len(w.Text) < 2 || w.Text[0] != '-':
			t.From = append(t.From, w)
		default:
			t.readOption(w.Text, hasTarget)
			exchange = exchange || strings.HasPrefix(w.Text, "--ex")
			if value, ok := target(w); ok && hasTarget && value.Text != "" {
				t.To = append(t.To, value)
			} else if ok && hasTarget && len(words) > 0 {
				t.To, words = append(t.To, words[0]), words[1:]
			}
		}
	}
	if last := len(t.From) - 1; len(t.To) == 0 && last > 0 {
		t.To, t.From = t.From[last:], t.From[:last:last]
	}
	if exchange {
		t.From = append(t.From, t.To...)
		t.To = t.From
	}
}

// target returns the value of an option -t or --target-directory, or an empty word if the
// value is the next word.
func target(w Word) (Word, bool) {
	if option, value, _ := strings.Cut(w.Text, "="); strings.HasPrefix(option, "--") {
		w.Text = value
		return w, strings.HasPrefix(option, "--t")
	}
	_, value, ok := strings.Cut(w.Text, "t")
	w.Text = value
	return w, ok
}

// readOption reads an option of cp and mv, or of rsync.
func (t *Transfer) readOption(text string, isCopy bool) {
	follows := "LH"
	if !isCopy {
		follows = "LKk"
	}
	if !strings.HasPrefix(text, "--") {
		t.Follows = t.Follows || strings.ContainsAny(text, follows)
		t.Parents = t.Parents || !isCopy && strings.Contains(text, "R")
		return
	}
	for _, prefix := range []string{"--de", "--copy-", "--k"} {
		t.Follows = t.Follows || strings.HasPrefix(text, prefix)
	}
	t.Parents = t.Parents || strings.HasPrefix(text, "--pa") || strings.HasPrefix(text, "--rel")
}
