package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestLastChainDecidesTheExitCode(t *testing.T) {
	for text, want := range map[string][]string{
		"grep x a":                          {"grep x a"},
		"make; cd a && b || c":              {"cd a", "b", "c"},
		"a | b && c |& d e":                 {"b", "d e"},
		"a &&\nb # c; d":                    {"a", "b"},
		"A=1 grep 'a|b;c' >o 2>&1":          {"A=1 grep 'a|b;c' >o 2>&1"},
		"time a | b":                        {"b"},
		"time a":                            {"time a"},
		"! a | b":                           {"! a | b"},
		"if a; then b; fi; grep \"$(c d)\"": {"grep \"$(c d)\""},
	} {
		if got, ok := LastChain(text); !ok || !slices.Equal(got, want) {
			t.Errorf("LastChain(%q) = %q, %v; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "a &", "a 'b", "(a)", "{ a; }", "f() { a; }; f", "a $(b)", "a `b`", "a ${b}", "a <(b)", "a <<E\nE", "a <<<b", "a {b,c}", "[[ a && b ]]", "((a))", "a=(b)",
		strings.Repeat("[", maxNesting+1), strings.Repeat("a", MaxParsed+1),
	} {
		if got, ok := LastChain(text); ok {
			t.Errorf("LastChain(%.40q) = %q, want not ok", text, got)
		}
	}
}
