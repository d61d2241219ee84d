package permission

import (
	"path"
	"strings"
)

// wrapper describes a program that runs another one given in its arguments.
type wrapper struct {
	// args are the option letters that take a value, longs the long options.
	args  string
	longs []string
	// before counts the operands that come before the command.
	before int
	// assigns is set when NAME=value may come before it.
	assigns bool
	// thin wrappers do not change what the command does: allow rules see
	// through them.
	thin bool
}

func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "timeout":
		return wrapper{args: "ks", longs: []string{"kill-after", "signal"}, before: 1, thin: true}, true
	case "time":
		return wrapper{thin: true}, true
	case "nice":
		return wrapper{args: "n", longs: []string{"adjustment"}, thin: true}, true
	case "nohup", "command", "builtin", "noglob":
		return wrapper{thin: true}, true
	case "stdbuf":
		return wrapper{args: "ioe", longs: []string{"input", "output", "error"}, thin: true}, true
	case "env":
		return wrapper{args: "uC", longs: []string{"unset", "chdir"}, assigns: true, thin: true}, true
	case "xargs":
		return wrapper{args: "adEIiLlnPs", longs: []string{"arg-file", "delimiter", "max-args", "max-procs", "replace", "max-lines"}, thin: true}, true
	}
	return thickWrapper(name)
}

// thickWrapper names programs through which only deny rules and guards see.
func thickWrapper(name string) (wrapper, bool) {
	switch name {
	case "sudo":
		return wrapper{args: "ugpCrtThDRU", longs: []string{"user", "group", "prompt", "host", "chdir", "chroot"}, assigns: true}, true
	case "doas":
		return wrapper{args: "uC"}, true
	case "exec":
		return wrapper{args: "a"}, true
	case "setsid", "busybox", "toybox", "unbuffer", "catchsegv", "coproc", "then", "do", "else", "!":
		return wrapper{}, true
	case "ionice":
		return wrapper{args: "cnpPu"}, true
	case "chrt", "taskset", "flock", "chroot", "unshare", "nsenter":
		return wrapper{args: "E", before: 1}, true
	case "watch":
		return wrapper{args: "nq", longs: []string{"interval"}}, true
	case "strace", "ltrace":
		return wrapper{args: "aeEoOpPsSuX"}, true
	case "parallel":
		return wrapper{args: "jNILn"}, true
	}
	return wrapper{}, false
}

// strip removes thin wrappers that do nothing else. The result is what allow
// rules see besides the whole.
func strip(words []word) (rest []word, assigns []assign) {
	rest = words
	for len(rest) > 0 && rest[0].fixed() {
		w, ok := wrapperOf(rest[0].text)
		if !ok || !w.thin {
			return rest, assigns
		}
		inner, as, plain := w.unwrap(rest)
		if !plain || len(inner) == 0 || rest[0].text == "xargs" && len(inner) != len(rest)-1 {
			return rest, assigns
		}
		rest, assigns = inner, append(assigns, as...)
	}
	return rest, assigns
}

// unwrap returns the command in a wrapper's arguments. plain is set when its
// options cannot change what that command does.
func (w wrapper) unwrap(words []word) (inner []word, assigns []assign, plain bool) {
	plain = true
	i, before := 1, w.before
	for ; i < len(words); i++ {
		t := words[i].text
		switch {
		case !words[i].fixed():
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
			plain = plain && harmlessOption(words[0].text, t)
		case w.assigns && isAssignment(t):
			name, value, _ := strings.Cut(t, "=")
			assigns = append(assigns, assign{name, literal(value)})
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
		return contains(w.longs, long)
	}
	// In a cluster the first letter with a value takes the rest of it.
	for i := 1; i < len(option); i++ {
		if strings.IndexByte(w.args, option[i]) >= 0 {
			return i == len(option)-1
		}
	}
	return false
}

// harmlessOption reports options that leave the inner command what it is.
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

// lookInside adds the commands that c hands to somebody else to run.
func (r *reader) lookInside(c command, st state) {
	if len(c.words) == 0 || len(r.s.cmds) > maxCommands {
		return
	}
	if r.evals >= maxEval {
		r.tooDeep = true
		return
	}
	r.evals++
	r.hidden++
	defer func() { r.evals--; r.hidden-- }()
	name := path.Base(certain(c.words[0].text))
	if w, ok := wrapperOf(name); ok {
		if inner, _, _ := w.unwrap(c.words); len(inner) > 0 {
			r.run(inner, st)
		}
	}
	switch name {
	case "eval", "watch":
		r.eval(c.words[1:], st)
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "su", "runuser", "script", "flock":
		r.shellOption(c.words[1:], st)
	case "trap":
		r.eval(c.words[1:min(2, len(c.words))], st)
	case "env":
		r.splitString(c.words[1:], st)
	case "find", "fd", "fdfind":
		r.execs(c.words, st)
	}
}

// run adds a command given as words.
func (r *reader) run(words []word, st state) {
	c := command{words: words}
	r.add(c, st)
	r.lookInside(c, st)
}

// eval reads words as a script, as far as they are certain.
func (r *reader) eval(words []word, st state) {
	var parts []string
	for _, w := range words {
		if !w.lit {
			r.s.note("it runs a script that is not known")
			r.s.lose("it runs a script that is not known")
			return
		}
		parts = append(parts, w.text)
	}
	if len(parts) == 0 {
		return
	}
	if err := r.read(strings.Join(parts, " "), st); err != nil {
		r.s.note("it runs a script that does not parse")
		r.s.lose("it runs a script that does not parse")
	}
}

// shellOption reads the script after -c.
func (r *reader) shellOption(args []word, st state) {
	for i, a := range args {
		t := a.text
		if strings.HasPrefix(t, "--command=") {
			r.eval([]word{{text: strings.TrimPrefix(t, "--command="), lit: a.lit}}, st)
			return
		}
		if t == "--command" || strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "--") && strings.Contains(t, "c") {
			// Further options may stand between -c and the script.
			for _, s := range args[i+1:] {
				if s.lit && strings.HasPrefix(s.text, "-") {
					continue
				}
				r.eval([]word{s}, st)
				return
			}
		}
	}
}

func (r *reader) splitString(args []word, st state) {
	for i, a := range args {
		if s, ok := strings.CutPrefix(a.text, "--split-string="); ok {
			r.eval([]word{{text: s, lit: a.lit}}, st)
		}
		if strings.HasPrefix(a.text, "-S") && len(a.text) > 2 {
			r.eval([]word{{text: a.text[2:], lit: a.lit}}, st)
		}
		if (a.text == "-S" || a.text == "--split-string") && i+1 < len(args) {
			r.eval(args[i+1:i+2], st)
		}
	}
}

// execs adds the commands of find -exec and fd -x.
func (r *reader) execs(words []word, st state) {
	end := 0
	for i, w := range words {
		switch w.text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch":
		default:
			continue
		}
		if i < end {
			continue // part of the command that was just read
		}
		end = i + 1
		for end < len(words) && words[end].text != ";" && words[end].text != "+" {
			end++
		}
		if end > i+1 {
			r.run(words[i+1:end], st)
		}
	}
}
