package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEachKindOfMutant(t *testing.T) {
	for src, want := range map[string][]string{
		"func f(a, b int) bool { return a < b }":                              {"boundary: < -> <=", "negate: < -> >=", "return: a < b -> !(a < b)"},
		"func f(a, b bool) { g(a && b) }":                                     {"drop: g(a && b) -> nothing", "logic: && -> ||"},
		"func f(ok bool) error { if !ok { return errBad }; return nil }":      {"negate: !ok -> !(!ok)", "return: errBad -> nil"},
		"func f() (int, bool) { return 3, true }":                             {"return: 3 -> *new(int)", "return: true -> false"},
		"func f(n int) int { n += 2; n--; return n }":                         {"arithmetic: += -> -=", "count: -- -> ++", "return: n -> *new(int)"},
		"func f() { for { break } }":                                          {"drop: break -> nothing"},
		"func f() { x = 1; _ = y; defer g() }":                                {"drop: x = 1 -> nothing", "drop: defer g() -> nothing"},
		"func f() { mu.Lock(); defer mu.Unlock(); s.log.Debug(x); panic(x) }": nil,
		"func f() { go func() int { return 1 }() }":                           {"return: 1 -> *new(int)"},
		"func f() []int { return nil }":                                       nil,
	} {
		all, err := mutants("a.go", []byte("package p\n"+src))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range all {
			_, what, _ := strings.Cut(m.String(), " ")
			got = append(got, what)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", src, got, want)
		}
	}
}

func TestAMutantKeepsTheLinesAndTheRest(t *testing.T) {
	src := []byte("package p\n\nfunc f() {\n\tg(1,\n\t\t2)\n\th()\n}\n")
	all, err := mutants("a.go", src)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(all[0].apply(src)), "package p\n\nfunc f() {\n\t\n\n\th()\n}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestASeedDrawsTheSameMutants(t *testing.T) {
	var all []mutant
	for i := range 50 {
		all = append(all, mutant{from: i})
	}
	if a, b := draw(all, 10, 1), draw(all, 10, 1); len(a) != 10 || !slices.Equal(a, b) {
		t.Errorf("a seed draws %v and then %v", a, b)
	}
	if slices.Equal(draw(all, 10, 1), draw(all, 10, 2)) {
		t.Error("another seed draws the same")
	}
	if len(draw(all, 0, 1)) != 50 {
		t.Error("0 does not draw all")
	}
}

// In a package of three functions one is held by a test, one is run by it without
// being looked at, and one is not run.
func TestWhatNoTestHoldsSurvives(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module p\n\ngo 1.26\n",
		"a.go":   "package p\n\nfunc held() bool { return true }\n\nfunc run() bool { return true }\n\nfunc idle() bool { return true }\n",
		"a_test.go": `package p

import "testing"

func TestHeld(t *testing.T) {
	run()
	if !held() {
		t.Fatal("broken")
	}
}

func TestFails(t *testing.T) { t.Fatal("always") }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := mutantsOf(dir, "*")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSuite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if len(s.tests) != 1 {
		t.Errorf("the suite is %v: a test that fails without a mutant stays out", s.tests)
	}
	all = append(all[:3], mutant{file: all[0].file, line: all[0].line, col: all[0].col, from: all[0].from, to: all[0].to, was: all[0].was, text: "no_such"})
	for i, want := range []verdict{killed, survived, unreached, invalid} {
		if got := s.try(t.Context(), all[i]); got != want {
			t.Errorf("%s: %s, want %s", all[i], got, want)
		}
	}
}
