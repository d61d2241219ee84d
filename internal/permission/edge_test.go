package permission

import "testing"

// Commands at the edge of what is known to change nothing.
func TestEdgesOfReadOnlyCommands(t *testing.T) {
	for _, c := range []string{"x=1", "date -u", "date +%s", "sed -n '1p; 2p' a", "test a = '['", "test -n a", "hostname", "uniq a"} {
		check(t, policy(Default), bash(c), Allow)
	}
	for _, c := range []string{"a=(1 2)", "a[0]=x", "test a = '[x'", "date -d now", "uniq a b", "a=(1 2) ls"} {
		check(t, policy(Default), bash(c), Ask)
	}
}

func TestInputWithSomethingBehindItIsDenied(t *testing.T) {
	p := policy(Bypass)
	for _, in := range []string{`{"command":"ls"}{"command":"rm x"}`, `{"command":"ls"} true`} {
		check(t, p, Request{Tool: "Bash", Input: []byte(in), Cwd: "/srv/proj"}, Deny)
	}
	check(t, p, Request{Tool: "Bash", Input: []byte(`{"command":"ls"}` + " \n"), Cwd: "/srv/proj"}, Allow)
}

func TestANameEndsWhereNoByteOfItFollows(t *testing.T) {
	for _, rest := range []string{"", "/", " ", ":", ";", "'", "@", "[", "`", "{", "\n", "$"} {
		if !endsPath(rest) {
			t.Errorf("%q makes the name longer", rest)
		}
	}
	for _, rest := range []string{"0", "9", "a", "z", "A", "Z", "_", "-", ".", "\x80", "ä"} {
		if endsPath(rest) {
			t.Errorf("%q ends the name", rest)
		}
	}
}
