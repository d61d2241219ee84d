package shell

import (
	"path"
	"slices"
	"strings"
)

// wrapper describes a program that runs another one given in its arguments.
type wrapper struct {
	// valueOptions are the option letters that take a value.
	valueOptions string
	// longValueOptions are the long options that take a value.
	longValueOptions []string
	// operands counts the operands before the command.
	operands int
	// assignments is set when NAME=value may precede the command.
	assignments bool
	// transparent wrappers do not change what the command does: allow rules apply to
	// the command in them.
	transparent bool
}

func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "timeout":
		return wrapper{valueOptions: "ks", longValueOptions: []string{"kill-after", "signal"}, operands: 1, transparent: true}, true
	case "time":
		return wrapper{transparent: true}, true
	case "nice":
		return wrapper{valueOptions: "n", longValueOptions: []string{"adjustment"}, transparent: true}, true
	case "nohup", "command", "builtin", "noglob":
		return wrapper{transparent: true}, true
	case "stdbuf":
		return wrapper{valueOptions: "ioe", longValueOptions: []string{"input", "output", "error"}, transparent: true}, true
	case "env":
		return wrapper{valueOptions: "uC", longValueOptions: []string{"unset", "chdir"}, assignments: true, transparent: true}, true
	case "xargs":
		return wrapper{valueOptions: "adEIiLlnPs", longValueOptions: []string{"arg-file", "delimiter", "max-args", "max-procs", "replace", "max-lines"}, transparent: true}, true
	}
	return opaqueWrapper(name)
}

// opaqueWrapper names wrappers that only deny rules and guards see through.
func opaqueWrapper(name string) (wrapper, bool) {
	switch name {
	case "sudo":
		return wrapper{valueOptions: "ugpCrtThDRU", longValueOptions: []string{"user", "group", "prompt", "host", "chdir", "chroot"}, assignments: true}, true
	case "doas":
		return wrapper{valueOptions: "uC"}, true
	case "exec":
		return wrapper{valueOptions: "a"}, true
	case "setsid", "busybox", "toybox", "unbuffer", "catchsegv", "coproc", "then", "do", "else", "!":
		return wrapper{}, true
	case "ionice":
		return wrapper{valueOptions: "cnpPu"}, true
	case "chrt", "taskset", "flock", "chroot", "unshare", "nsenter":
		return wrapper{valueOptions: "E", operands: 1}, true
	case "watch":
		return wrapper{valueOptions: "nq", longValueOptions: []string{"interval"}}, true
	case "strace", "ltrace":
		return wrapper{valueOptions: "aeEoOpPsSuX"}, true
	case "parallel":
		return wrapper{valueOptions: "jNILn"}, true
	}
	return wrapper{}, false
}

// Strip removes transparent wrappers. Allow rules are tried on the result besides the
// whole.
func Strip(words []Word) (rest []Word, assigns []Assign) {
	rest = words
	for len(rest) > 0 && rest[0].Fixed() {
		w, ok := wrapperOf(rest[0].Text)
		if !ok || !w.transparent {
			return rest, assigns
		}
		inner, as, plain := w.unwrap(rest)
		if !plain || len(inner) == 0 || rest[0].Text == "xargs" && len(inner) != len(rest)-1 {
			return rest, assigns
		}
		rest, assigns = inner, append(assigns, as...)
	}
	return rest, assigns
}

// unwrap returns the command in a wrapper's arguments. plain is set when its options
// cannot change what that command does.
func (w wrapper) unwrap(words []Word) (inner []Word, assigns []Assign, plain bool) {
	plain = true
	i, before := 1, w.operands
	for ; i < len(words); i++ {
		t := words[i].Text
		switch {
		case !words[i].Fixed():
			if before == 0 {
				return words[i:], assigns, false
			}
			plain = false
			before--
		case t == "--":
		case strings.HasPrefix(t, "-") && len(t) > 1:
			if w.takesValue(t) {
				i++
			}
			plain = plain && harmlessOption(words[0].Text, t)
		case w.assignments && isAssignment(t):
			name, value, _ := strings.Cut(t, "=")
			assigns = append(assigns, Assign{name, Literal(value)})
		case before > 0:
			before--
		default:
			return words[i:], assigns, plain
		}
	}
	return nil, assigns, plain
}

func (w wrapper) takesValue(option string) bool {
	if long, ok := strings.CutPrefix(option, "--"); ok {
		return slices.Contains(w.longValueOptions, long)
	}
	// In a cluster the first letter with a value takes the rest of it.
	for i := 1; i < len(option); i++ {
		if strings.IndexByte(w.valueOptions, option[i]) >= 0 {
			return i == len(option)-1
		}
	}
	return false
}

// harmlessOption reports options that do not change what the inner command does.
func harmlessOption(name, option string) bool {
	switch name {
	case "env":
		return option == "-i" || option == "-" || option == "-u" || option == "--ignore-environment" || strings.HasPrefix(option, "--unset")
	case "command", "builtin":
		return option == "-p"
	case "time":
		return option == "-p"
	case "xargs":
		return false
	}
	return true
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && isName(name)
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// readInner adds the commands that c runs.
func (r *reader) readInner(c Command, st state) {
	if len(c.Words) == 0 || len(r.script.Commands) > maxCommands {
		return
	}
	if r.evals >= maxEval {
		r.tooDeep = true
		return
	}
	r.evals++
	r.hidden++
	defer func() { r.evals--; r.hidden-- }()
	name := path.Base(WithoutExpansions(c.Words[0].Text))
	if w, ok := wrapperOf(name); ok {
		if inner, _, _ := w.unwrap(c.Words); len(inner) > 0 {
			r.readWords(inner, st)
		}
	}
	switch name {
	case "eval", "watch":
		r.readEval(c.Words[1:], st)
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "su", "runuser", "script", "flock":
		r.readShellOption(c.Words[1:], st)
	case "trap":
		r.readEval(c.Words[1:min(2, len(c.Words))], st)
	case "env":
		r.readSplitString(c.Words[1:], st)
	case "find", "fd", "fdfind":
		r.readExec(c.Words, st)
	}
}

// readWords adds a command given as words.
func (r *reader) readWords(words []Word, st state) {
	c := Command{Words: words}
	r.add(c, st)
	r.readInner(c, st)
}

// readEval reads words as a script, as far as they are certain.
func (r *reader) readEval(words []Word, st state) {
	var parts []string
	for _, w := range words {
		if !w.Literal {
			r.script.setOpaque("it runs a script that is not known")
			r.script.setUntraced("it runs a script that is not known")
			return
		}
		parts = append(parts, w.Text)
	}
	if len(parts) == 0 {
		return
	}
	if err := r.read(strings.Join(parts, " "), st); err != nil {
		r.script.setOpaque("it runs a script that does not parse")
		r.script.setUntraced("it runs a script that does not parse")
	}
}

// readShellOption reads the script after -c.
func (r *reader) readShellOption(args []Word, st state) {
	for i, a := range args {
		t := a.Text
		if strings.HasPrefix(t, "--command=") {
			r.readEval([]Word{{Text: strings.TrimPrefix(t, "--command="), Literal: a.Literal}}, st)
			return
		}
		if t == "--command" || strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--") && strings.Contains(t, "c") {
			// Further options may stand between -c and the script.
			for _, s := range args[i+1:] {
				if s.Literal && strings.HasPrefix(s.Text, "-") {
					continue
				}
				r.readEval([]Word{s}, st)
				return
			}
		}
	}
}

func (r *reader) readSplitString(args []Word, st state) {
	for i, a := range args {
		if s, ok := strings.CutPrefix(a.Text, "--split-string="); ok {
			r.readEval([]Word{{Text: s, Literal: a.Literal}}, st)
		}
		if strings.HasPrefix(a.Text, "-S") && len(a.Text) > 2 {
			r.readEval([]Word{{Text: a.Text[2:], Literal: a.Literal}}, st)
		}
		if (a.Text == "-S" || a.Text == "--split-string") && i+1 < len(args) {
			r.readEval(args[i+1:i+2], st)
		}
	}
}

// readExec adds the commands of find -exec and fd -x.
func (r *reader) readExec(words []Word, st state) {
	end := 0
	for i, w := range words {
		switch w.Text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch":
		default:
			continue
		}
		if i < end {
			continue // part of the command that was just read
		}
		end = i + 1
		for end < len(words) && words[end].Text != ";" && words[end].Text != "+" {
			end++
		}
		if end > i+1 {
			r.readWords(words[i+1:end], st)
		}
	}
}
