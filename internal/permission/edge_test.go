package permission

import "testing"

// Commands at the edge of what is known to change nothing.
func TestEdgesOfReadOnlyCommands(t *testing.T) {
	for _, c := range []string{"x=1", "date -u", "date +%s", "sed -n '1p; 2p' a", "test a = '['", "test -n a", "hostname", "uniq a"} {
		check(t, policy(Default), bash(c), Allow)
	}
	for _, c := range []string{"a=(1 2)", "a[0]=x", "test a = '[x'", "date -s now", "uniq a b", "a=(1 2) ls"} {
		check(t, policy(Default), bash(c), Ask)
	}
}

func TestTrailingInputIsDenied(t *testing.T) {
	p := policy(Bypass)
	for _, in := range []string{`{"command":"ls"}{"command":"rm x"}`, `{"command":"ls"} true`, `{"command":"ls"}]`, `{"command":"ls"}}`, `{"command":"ls"} ]`} {
		check(t, p, Request{Tool: "Bash", Input: []byte(in), Cwd: "/srv/proj"}, Deny)
	}
	check(t, p, Request{Tool: "Bash", Input: []byte(`{"command":"ls"}` + " \n"), Cwd: "/srv/proj"}, Allow)
}

func TestEndOfPathName(t *testing.T) {
	for _, rest := range []string{"", "/", " ", ":", ";", "'", "@", "[", "`", "{", "\n", "$"} {
		if !endsName(rest) {
			t.Errorf("%q makes the name longer", rest)
		}
	}
	for _, rest := range []string{"0", "9", "a", "z", "A", "Z", "_", "-", ".", "\x80", "ä"} {
		if endsName(rest) {
			t.Errorf("%q ends the name", rest)
		}
	}
}

// A deny rule for a program applies however its name is quoted and whatever runs
// it.
func TestDenyRuleAppliesThroughQuotesAndWrappers(t *testing.T) {
	p := policy(Bypass)
	p.Deny = rules(t, "Bash(curl:*)")
	for _, c := range []string{
		`$'\x63url' x`, `$'\143url' x`, `$'\u0063url' x`, `$'\U00000063url' x`, `$'\x63\x75\x72\x6c' x`, `$'\x63\165\u0072\x6C' x`, `$'cu\rl' x; curl x`,
		"\"cu\\\nrl\" x", "cu\\\nrl x", `"curl" x`, `c"ur"l x`, `c'ur'l x`, `c\url x`,
		"strace -e trace=open -o f curl x", "ltrace -u ann curl x", "parallel -j 2 curl x", "watch -n 1 curl x", "watch --interval 1 curl x",
		"doas -u root curl x", "ionice -c 3 curl x", "chrt 5 curl x", "taskset 1 curl x", "setsid curl x", "exec -a n curl x", "sudo --user root A=b curl x",
	} {
		check(t, p, bash(c), Deny)
	}
	for _, c := range []string{`$'\x63urls' x`, `"cu\rl" x`, `$'\x64url' x`, "strace -e trace=curl ls", "echo curl"} {
		check(t, p, bash(c), Allow)
	}
}

func TestSuggestForTheWorkingDirectoryItself(t *testing.T) {
	if got := Suggest(policy(Default), tool("Write", "file_path", "/srv/proj")); len(got) != 1 || got[0] != "Edit(//srv/proj)" {
		t.Errorf("%q is offered", got)
	}
}

func TestRuleAppliesToItsToolAndDirectoryOnly(t *testing.T) {
	p := policy(Bypass)
	p.Deny = rules(t, "Monitor(tail:*)", "Bash(curl:*)", "Read(//srv/proj/sub/**)", "Read(//srv/proj/own)")
	for r, want := range map[*Request]Behavior{
		{Tool: "Monitor", Input: []byte(`{"command":"tail -f x"}`), Cwd: "/srv/proj"}: Deny,
		{Tool: "Bash", Input: []byte(`{"command":"tail -f x"}`), Cwd: "/srv/proj"}:    Allow,
		{Tool: "Monitor", Input: []byte(`{"command":"curl x"}`), Cwd: "/srv/proj"}:    Deny,
		{Tool: "Read", Input: []byte(`{"file_path":"sub/a"}`), Cwd: "/srv/proj"}:      Deny,
		{Tool: "Read", Input: []byte(`{"file_path":"own"}`), Cwd: "/srv/proj"}:        Deny,
		{Tool: "Read", Input: []byte(`{"file_path":"subs"}`), Cwd: "/srv/proj"}:       Allow,
		{Tool: "Read", Input: []byte(`{"file_path":"own2"}`), Cwd: "/srv/proj"}:       Allow,
	} {
		check(t, p, *r, want)
	}
}

// A script that cannot be read is asked about, whatever rule allows the command.
func TestInnerScriptThatDoesNotParseAsks(t *testing.T) {
	p := policy(Default)
	p.Allow = rules(t, "Bash(eval:*)", "Bash(sh:*)")
	for _, c := range []string{`eval 'if'`, `eval "echo '("`, `eval $X`, `sh -c 'if'`} {
		check(t, p, bash(c), Ask)
	}
	for _, c := range []string{`eval`, `eval ls`} {
		check(t, p, bash(c), Allow)
	}
}
