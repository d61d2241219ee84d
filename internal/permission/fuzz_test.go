package permission

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// FuzzBash compares Decide with a second, cruder reading of the same command:
// what a rule or the read-only grammar allows holds no simple command outside
// the allowed set, and what a deny rule names is denied wherever it stands.
func FuzzBash(f *testing.F) {
	for _, s := range []string{
		"git diff a", "npm test && ls | head", "timeout 5 npm test; rm x", "find . -exec curl {} +", "echo $(curl x) > out", "cat <<A\n`curl x`\nA", "cd a && c''url x", "env A=b ls",
		"for a in b; do npm test; done", "f() { curl; }; f", "[[ -n $(curl) ]] && git diff", "bash -c 'curl x'", "sed -n 1p a", "LANG=C git diff 2>&1 | sort", "case a in b) ls;; esac", "x=1 ls", "ls >/dev/null 2>&1",
		"! ls", "ls &", "{ ls; }", "(ls)", "eval curl", "sort -o x", "git log --output=x", "a=$((x)) ls", "echo \"${x@P}\"", "printf %s a", "cat a\\\nb", "$'ls'", "\\ls",
	} {
		f.Add(s)
	}
	allow, deny := rules(f, "Bash(git diff:*)", "Bash(npm test)"), rules(f, "Bash(curl:*)")
	f.Fuzz(func(t *testing.T, command string) {
		if len(command) > 4096 || !utf8.ValidString(command) {
			return
		}
		p := policy(Default)
		p.Allow = allow
		d := Decide(p, bash(command))
		calls, redirs, odd := independentWalk(command)
		if d.Behavior == Allow {
			if odd != "" {
				t.Errorf("%q is allowed by %q, but holds %s", command, d.Rule, odd)
			}
			for _, c := range calls {
				if !independentlyAllowed(c) {
					t.Errorf("%q is allowed by %q, but runs %q", command, d.Rule, c)
				}
			}
			for _, r := range redirs {
				t.Errorf("%q is allowed by %q, but writes %q", command, d.Rule, r)
			}
		}
		p = policy(Bypass)
		p.Deny = deny
		if got := Decide(p, bash(command)); got.Behavior != Deny && slices.ContainsFunc(calls, func(c []string) bool { return c[0] == "curl" }) {
			t.Errorf("%q runs curl, which is denied, and yet: %s by %q", command, got.Behavior, got.Rule)
		}
	})
}

// independentWalk lists the simple commands and written files of a command, using
// the expansion of another package, with every variable empty.
func independentWalk(command string) (calls [][]string, redirs []string, odd string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, nil, "what does not parse"
	}
	unknown := errors.New("not known")
	cfg := &expand.Config{
		Env:       expand.FuncEnviron(func(string) string { return "" }),
		CmdSubst:  func(io.Writer, *syntax.CmdSubst) error { return unknown },
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", unknown },
	}
	for n := range syntax.Preorder(file) {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			odd = "a function"
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				continue
			}
			var words []string
			for _, a := range n.Args {
				s, err := expand.Literal(cfg, a)
				if err != nil {
					s = "?"
				}
				words = append(words, s)
			}
			calls = append(calls, words)
		case *syntax.Redirect:
			s, err := expand.Literal(cfg, n.Word)
			if err != nil {
				s = "?"
			}
			if redirectWrites(n.Op, s) {
				redirs = append(redirs, s)
			}
		}
	}
	return calls, redirs, odd
}

func redirectWrites(op syntax.RedirOperator, target string) bool {
	switch op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.RdrIn, syntax.DplIn:
		return false
	}
	return !strings.HasPrefix(target, "/dev/") && strings.Trim(target, "0123456789-") != ""
}

// independentlyAllowed knows names and, for the dangerous ones, words that must not
// occur at all.
func independentlyAllowed(words []string) bool {
	for len(words) > 0 && slices.Contains([]string{"timeout", "time", "nice", "nohup", "stdbuf", "command", "env", "builtin", "noglob", "xargs"}, words[0]) {
		if words[0] == "command" && len(words) > 1 && (words[1] == "-v" || words[1] == "-V") {
			return true
		}
		words = words[1:]
		for len(words) > 0 && !knownName(words[0]) {
			words = words[1:] // options and their values
		}
	}
	if len(words) == 0 || !knownName(words[0]) {
		return false
	}
	rest := strings.Join(words[1:], " ")
	switch words[0] {
	case "npm":
		return rest == "test" || rest == "--version"
	case "git":
		return !strings.Contains(rest, "push") || strings.HasPrefix(rest, "diff")
	case "find":
		return !slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"}, w)
		})
	case "sed":
		return !strings.Contains(rest, "-i") && !strings.Contains(rest, "w ")
	case "sort":
		return !slices.ContainsFunc(words[1:], func(w string) bool {
			name, _, _ := strings.Cut(w, "=")
			return len(name) > 2 && strings.HasPrefix("--output", name) || strings.HasPrefix(w, "-o")
		})
	}
	return true
}

func knownName(name string) bool {
	return path.Base(name) == name && slices.Contains(strings.Fields(`git npm ls cat echo pwd head tail wc which stat du df basename dirname true false :
		id whoami groups uname nproc uptime cmp comm cut paste tr nl tac rev fold expand unexpand md5sum sha1sum sha256sum sha512sum cksum
		readlink realpath seq type cd grep egrep fgrep strings od hexdump jq arch locale column sleep diff test [ printf uniq sort file tree rg find sed date
		hostname ps go node python python3 cargo rustc timeout time nice nohup stdbuf command env builtin noglob xargs`), name)
}
