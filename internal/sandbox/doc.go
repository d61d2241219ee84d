// Package sandbox starts commands that the kernel confines, and ends them whole. A
// Profile is what a command may reach; Start is the only way to run one under it.
//
//	place := sandbox.Place{Dirs: []string{"/srv/project"}, Home: home, Hidden: []string{state}, Getenv: os.Getenv}
//	p := place.Profile(sandbox.Inspect)
//	p.Temp = temp // a private directory, made by the caller
//	proc, err := sandbox.Start(exec.Command("git", "status"), p)
//	err = proc.Wait()     // the command itself has ended
//	proc.KillAll()        // and now whatever it has left behind
//	err = proc.Close()
//
// There are three profiles. Inspect reads the working directories, the system and the
// toolchains, writes a private temporary directory, and has no network and no Unix
// sockets. Edit is Inspect that also writes the working directories, but for the names
// that other programs obey (.git, .claude, .mcp.json, shell files). Open is what a rule
// or a person allowed. Each lacks what is hidden: swarm's own state, which holds the
// journals, outputs and sockets of all sessions, and the credentials that Secrets lists.
//
// A part of the state can be shown again. The commands of agents are meant to ask their
// session some things (swarm ps, swarm mcp), so under Open the caller shows the
// session's socket and its record. That is no way around a question to the user: every
// process below a command has no_new_privs and one more seccomp filter than the runtime,
// neither of which it can shed, and the server that listens on the socket asks Marked
// about each process that connects and lets a marked one observe and be a member only.
//
// On Linux Start takes a thread, restricts that thread alone (no_new_privs, Landlock,
// seccomp), starts the command from it and throws it away in the end. What Landlock cannot
// express, a name hidden inside a directory that is otherwise open, is a mount: a
// launcher, a program in memory of a few hundred bytes, enters a mount namespace (and a
// user namespace, where this user may not mount), makes the mounts, restricts itself and
// becomes the command. bwrap does it where the launcher cannot. Where neither works, Edit
// is refused, and Open hides names from reading only: a command cannot read what it has
// itself made beside a hidden name. Probe reports which of these a machine has.
//
// Laws:
//
//   - No command reads what is hidden, by whatever path, under any profile
//     (TestSecretsCannotBeRead).
//   - Inspect writes its temporary directory and nothing else (TestInspectWritesNothing);
//     Edit writes the working directories, but no fixed name, whether it exists or not
//     (TestEditLeavesFixedNamesAlone). That goes for modes, owners, times and attributes,
//     too (TestMetadataStays).
//   - Inspect and Edit have no network and no Unix sockets (TestNoNetwork).
//   - No command reads the environment of, signals or traces a process outside of it
//     (TestProcessesOutsideAreOutOfReach), nor do Inspect and Edit bound or schedule one
//     (TestProcessesOutsideAreNotTuned).
//   - A command with an outlet reaches that and nothing else of the network
//     (TestNothingButTheOutletLeadsOut).
//   - A command whose processes use more together than its totals is named, with the limit
//     (TestACommandBeyondItsTotalsIsNamed). Where this process may divide its control
//     group, the kernel holds the command to them (TestGroupsHoldTotals), which is in a
//     group of its own from its first instruction (TestACommandIsBornInItsGroup).
//   - Nothing outlives KillAll, however often it forks and whatever it sheds
//     (TestDaemonsEndWithTheirScope).
//   - A command knows nothing of the restrictions of another: the threads of this
//     process and the commands started without Start have none
//     (TestTheStarterStaysFree).
//   - Each process below a command is marked (TestEachDescendantIsMarked).
//   - Of what is fixed and what is free in a profile the nearest decides (TestFreeBelowFixed).
//   - Commands that share rules read what the roots are when they start
//     (TestSharedRulesFollowTheFileSystem, TestSharedRulesFollowTheirDirectory).
//   - A profile within another allows nothing that the other does not
//     (TestWithinNeverWidens).
//   - What a machine cannot enforce is an error and never less than was asked for, except
//     under Open, which runs with what there is (TestWhatCannotBeEnforcedIsRefused).
//
// Not promised: that a command under Inspect can set modes and times in its temporary
// directory; that a root user is kept from raw devices under Open; that a fixed name
// below the top of a directory is protected (internal/permission judges those); the signal
// half of the laws on kernels before Linux 6.12, and any of them but the files on macOS.
package sandbox
