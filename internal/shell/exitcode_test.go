package shell

import "testing"

func TestMeaningOfExitCodes(t *testing.T) {
	for command, known := range map[string]bool{
		"grep a b": true, "rg a": true, "git diff --quiet": true, "git grep x": true, "find . -name x": true, "[[ a == b ]]": true,
		"grep 'a|b && c' f": true, `grep "a;b" f`: true, "make; grep a b": true, "x=1 grep a": true, "grep a || diff b c": true, "cat f | grep a": true,
		"make && grep a b": false, "grep a b && make": false, "grep a b | wc": false, "git commit": false, "(grep a b)": false,
		"grep 'a": false, "cat <<E\ngrep x\nE": false, "grep a b & wait": false, "x=1": false, "ls": false,
		"grep x # it's": true, "# a; b\ngrep x": true, "if a; then b; fi; grep x": true, "while read x; do ls; done | grep x": true, "grep x >out 2>&1": true, "grep x &>out": true,
		`grep "$(ls)" a`: true, "grep \"`ls`\" a": true, `find . \( -name a \)`: true, "grep $x a": true, "grep x; ;": false, "cd a && grep x;": true, "make | cd a && grep x": true, "grep a\\;b c": true,
		"grep x $(ls)": false, "x=$(ls); grep x": false, "grep ${x} a": false, "find . -exec ls {} +": false, "grep x <<<a": false, "{ grep x; }": false, "f() { ls; }; grep x": false,
		"if a; then grep x; fi": false, "! grep x": false, "! ls | grep x": false, "time grep x": false, "[[ a && b ]]": false, "[[ a =~ (b) ]]": false, "grep x &": false, "grep x && ": false, ">out grep x": false,
		"A='b c' grep x": false, "": false, ";": false,
	} {
		if got := ExplainExitCode(command, 1) != ""; got != known {
			t.Errorf("meaning(%q) known: %v, want %v", command, got, known)
		}
		if ExplainExitCode(command, 2) != "" || ExplainExitCode(command, 0) != "" {
			t.Errorf("meaning(%q) explains codes other than 1", command)
		}
	}
}
