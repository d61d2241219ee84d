package gitignore

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/gittest"
)

func TestIgnoreRules(t *testing.T) {
	for _, c := range []struct{ rules, ignored, kept string }{
		{"*.o\n!keep.o\n", "a.o d/b.o", "keep.o d/keep.o a.c"},
		{"/top\n", "top", "d/top"},
		{"a/b\n", "a/b", "x/a/b"},
		{"**/b\n", "b a/b a/x/b", "bb"},
		{"a/**/z\n", "a/z a/b/z a/b/c/z", "z a/zz"},
		{"a/**\n", "a/b a/b/c", "a"},
		{"# no\n\\#yes\n\\!bang\n", "#yes !bang", "# no"},
		{"trail  \nkept\\ \n", "trail", "kept"},
		{"[a-c]x\n[!a-c]y\n[[:digit:]]z\n", "ax by\x00 dy 1z", "dx ay az"},
		{"broken[\n\\\n", "", "broken[ broken \\"},
		{"a*b\n", "ab axxb", "a/b"},
	} {
		rules := Parse(c.rules, "")
		for _, p := range strings.Fields(c.ignored) {
			if !strings.Contains(p, "\x00") && !rules.Ignore(p, false) {
				t.Errorf("%q does not ignore %s", c.rules, p)
			}
		}
		for _, p := range strings.Fields(c.kept) {
			if rules.Ignore(p, false) {
				t.Errorf("%q ignores %s", c.rules, p)
			}
		}
	}
	if rules := Parse("build/\n", ""); rules.Ignore("build", false) || !rules.Ignore("build", true) {
		t.Error("a trailing slash must mean folders only")
	}
}

func TestHostilePatternsEnd(t *testing.T) {
	pattern := strings.Repeat("*a", 40) + "b"
	if wildmatch(pattern, strings.Repeat("a", 400)) {
		t.Error("it matched")
	}
	if wildmatch(strings.Repeat("**/", 40)+"b", strings.Repeat("a/", 200)+"c") {
		t.Error("it matched")
	}
}

// invent makes a pattern and paths out of few letters, so that they meet.
func invent(r *rand.Rand) (rules string, paths []string) {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for range 1 + r.IntN(4) {
		line := pick("", "", "", "!", "/", "\\")
		for range 1 + r.IntN(5) {
			line += pick("a", "b", "c", "a", "b", "*", "**", "?", "/", "/", "**/", "/**", "[ab]", "[!a]", "[^b]", "[a-", "[]a]", "[a-c]", "[[:alpha:]]", "[[:bad:]]", "[[.]]", "\\a", "\\*", "\\", " ", "\\ ", "#", "]", "-", "[b-a]", "[a\\]]", "[\\")
		}
		rules += line + pick("", "", "/", " ", "\r") + "\n"
	}
	for range 12 {
		parts := []string{}
		for range 1 + r.IntN(4) {
			parts = append(parts, pick("a", "b", "c", "ab", "abc", "ba", "a]", "*", "a-", "a b", "#a", "\\a", "d"))
		}
		paths = append(paths, strings.Join(parts, "/"))
	}
	return rules, paths
}

// asked is what the rules say of a path, its parents being folders.
func asked(rules Rules, path string) bool {
	for i := range path {
		if path[i] == '/' && rules.Ignore(path[:i], true) {
			return true
		}
	}
	return rules.Ignore(path, false)
}

func compareWithGit(t *testing.T, repo, rules string, paths []string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(repo, ".gitignore"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	out := gittest.Run(t, repo, []byte(strings.Join(paths, "\x00")+"\x00"), "check-ignore", "--stdin", "-z", "--no-index")
	ignored := make(map[string]bool)
	for name := range strings.SplitSeq(string(out), "\x00") {
		ignored[name] = true
	}
	own := Parse(rules, "")
	for _, p := range paths {
		if got := asked(own, p); got != ignored[p] {
			t.Errorf("rules %q, path %q: ignored %v, git says %v", rules, p, got, ignored[p])
		}
	}
}

// The repository is empty but for .gitignore, so git takes every path for a
// file and its parents for folders, as asked does.
func TestIgnoreAgreesWithGit(t *testing.T) {
	gittest.Need(t)
	repo := t.TempDir()
	gittest.Run(t, repo, nil, "init", "-q")
	rounds := 200
	if testing.Short() {
		rounds = 50
	}
	for seed := range uint64(rounds) {
		rules, paths := invent(rand.New(rand.NewPCG(seed, 1)))
		compareWithGit(t, repo, rules, paths)
	}
}

func FuzzIgnore(f *testing.F) {
	gittest.Need(f)
	f.Add("*.o\n!a.o\n", "d/a.o")
	f.Add("a/**/b\n", "a/x/b")
	f.Add("[[:alpha:]-z]\n", "b")
	repo := f.TempDir()
	gittest.Run(f, repo, nil, "init", "-q")
	f.Fuzz(func(t *testing.T, rules, path string) {
		clean := filepath.ToSlash(filepath.Clean(path))
		if clean != path || strings.HasPrefix(path, ":") || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "..") || path == "." ||
			strings.Contains(path, ".git") || strings.ContainsAny(rules+path, "\x00") || len(path) > 200 || len(rules) > 4096 {
			t.Skip("no path or rules of a repository")
		}
		compareWithGit(t, repo, rules, []string{path})
	})
}
