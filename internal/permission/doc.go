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
// internal/shell parses shell commands into parts; this package judges the parts.
//
// Laws:
//
//   - An isolated agent's call that would write outside its worktree, or whose
//     effect cannot be traced, is denied before anything else, in every mode
//     (TestIsolatedAgentStaysInItsWorktree).
//   - No file tool reaches what belongs to the runtime or to other agents, in any mode
//     (TestPrivateFilesAreOutOfReach).
//   - An agent whose definition gives it certain uses of a tool has no other use of
//     that tool, whatever rules and modes allow (TestLimitedToolsAreNeverWidened).
//   - Order after the first: deny rules, limits of tools, ask rules, what is never
//     approved automatically, the mode, allow rules, ask. The first that applies decides; it does not matter
//     how specific a rule is (TestDecideOrder).
//   - A deny rule that matches any simple command of a shell command, at any
//     depth, denies the whole (TestDenyMatchesAtEveryDepth). An allow rule
//     allows it only if every simple command is allowed (FuzzBash).
//   - No rule and no mode allows a command that does not parse or is longer than
//     shell.MaxCommand: a person is asked (TestUnparsableCommandsAsk).
//   - A person is asked about critical removals in every mode, bypassPermissions
//     included (TestCriticalRemovalsAreNeverAutoApproved).
//   - An agent's command that would answer a question to a person is denied in every
//     mode (TestNoCommandAnswersQuestions).
//   - In mode auto a model may decide what rules and mode leave open, but nothing that a
//     rule denies or asks about, that is protected, or that cannot be read
//     (TestAutoJudgesWhatIsLeftOpen). Allow rules that cover nearly anything do not apply
//     (TestAutoSetsBroadRulesAside).
//   - Mode acceptEdits does not let files be changed that others run or obey, such as
//     Makefiles, pipelines and CLAUDE.md (TestFilesThatOthersRunAreAskedAbout). An answer for
//     one covers that one from then on (TestAnAnswerCoversTheFileThatOthersRun).
//   - What a file's name asks for, it also asks for in a directory that acceptEdits would let a
//     command copy, move or remove (TestDirectoriesAreLookedInto), and rules that deny or ask
//     about changes of files hold for those that a copied or moved directory creates
//     (TestRulesForFilesHoldForCopiedDirectories). A directory with too many names is asked
//     about (TestALargeDirectoryIsAskedAbout).
//   - The rules that Suggest returns allow the call, and nothing that the mode keeps
//     rules from allowing (TestSuggestAllowsTheCall).
//   - A path is allowed only if both its spelling and what it resolves to are
//     allowed, and denied if either is (TestSymlinkNeedsBothToAllow).
//   - A command that is allowed only because it reads is held to the profile inspect, one
//     that acceptEdits allows to edit, and others to open
//     (TestUnaskedCommandsAreHeldToTheirEffect). Where nothing can hold it, the first
//     counts as reading only if each word is fixed (TestUnconfinedReadingIsFixedText),
//     and a person is asked about the second (TestUnheldEditsAreAskedAbout).
//   - Where the settings enable the sandbox, no command runs under more than edit, unless
//     it is excluded or a person has allowed it without (TestTheSandboxHoldsCommands).
//   - A command that only probably reads runs unasked where inspect holds any program, and never with
//     a part that may do more (TestUnconfinedGuessesAsk).
//   - What the rules deny of files, they deny to commands too, whatever these compute: Denials
//     returns them for the sandbox (TestDenialsAreThoseOfTheRules).
//   - Narrower is never more permissive than either of its arguments, for any
//     request (TestNarrowerNeverWidens).
//   - Decide is a pure function of its arguments: same input, same Decision
//     (TestDecideIsPure). It reads the file system
//     through Policy.Resolve, Policy.ReadDir and Boundary.HardLinkTarget only.
//
// Everything may be called from any goroutine, provided that Policy.Resolve, Policy.ReadDir and
// Boundary.HardLinkTarget may.
//
// Not promised: that an isolated agent's programs keep out of directories whose
// paths they compute themselves (a sandbox can promise that), or that an allowed
// program does only what its name suggests, or that what another process puts into a
// directory between the decision and the command is seen. A read-only git command still runs
// what the repository's configuration names; its caller switches fsmonitor and
// hooks off. A rule for a path does not filter what a recursive command finds below a
// directory; what Grep and Glob find, they filter with Conceals.
package permission
