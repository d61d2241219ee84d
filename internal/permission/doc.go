// Package permission decides whether a tool call runs, is refused, or is put to
// a person. Decide is the only decision point: rules × mode × request → allow,
// deny or ask, and the rule that decided.
//
//	rule, err := permission.ParseRule("Bash(go test:*)")
//	p := permission.Policy{
//		Mode: permission.AcceptEdits, Dirs: []string{"/srv/proj"}, Home: "/home/ann",
//		Allow: []permission.Rule{rule},
//	}
//	d := permission.Decide(p, permission.Request{
//		Tool: "Bash", Cwd: "/srv/proj", Input: json.RawMessage(`{"command":"go test ./... | tail"}`),
//	})
//	// d.Behavior is Allow, d.Rule "Bash(go test:*)"
//
// What a shell command consists of is found out by internal/shell; this package
// judges the parts.
//
// Laws:
//
//   - An isolated agent's call that would write outside its worktree, or whose
//     effect cannot be traced, is denied before anything else, in every mode
//     (TestIsolatedAgentStaysInItsWorktree).
//   - Order after that: deny rules, ask rules, what is never approved automatically, the
//     mode, allow rules, ask. The first that applies decides; how specific a
//     rule is plays no part (TestDecideOrder).
//   - A deny rule that matches any simple command of a shell command, at any
//     depth, denies the whole (TestDenyMatchesAtEveryDepth). An allow rule
//     allows it only if every simple command is allowed (FuzzBash).
//   - What cannot be understood is never allowed by a rule or a mode: a command
//     that does not parse, or is longer than shell.MaxCommand, is asked
//     (TestUnparsableCommandsAsk).
//   - Critical removals are asked in every mode, bypassPermissions included
//     (TestCriticalRemovalsAreNeverAutoApproved).
//   - A command of an agent that would answer what a person is asked is denied in
//     every mode (TestNoCommandAnswersQuestions).
//   - What Suggest offers allows the call and never more than the mode would let
//     a rule allow (TestSuggestAllowsTheCall).
//   - A path is allowed only if both its spelling and what it resolves to are
//     allowed, and denied if either is (TestSymlinkNeedsBothToAllow).
//   - Narrower is never more permissive than either of its arguments, for any
//     request (TestNarrowerNeverWidens).
//   - Decide is a pure function of its arguments: same input, same Decision
//     (TestDecideIsPure). It reads the file system
//     through Policy.Resolve and Enclosure.Linked only.
//
// Everything may be called from any goroutine, provided that Policy.Resolve and
// Enclosure.Linked may.
//
// Not promised: that an isolated agent's programs keep out of directories which
// neither their arguments nor the script name and which they compute themselves
// (that is the sandbox's), or that an allowed program does only what its name
// suggests. A
// read-only git command still runs what the repository's own configuration
// names; whoever runs it switches fsmonitor and hooks off. A rule for a path
// does not filter what Grep or a recursive command finds below a directory; the
// tool does.
package permission
