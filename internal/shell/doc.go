// Package shell takes a shell command apart without running it: which simple
// commands it holds, at every depth, with which words and redirections, and in
// which directories each may run. It also knows what common programs do with their
// arguments. It judges nothing; internal/permission does.
//
//	s := shell.Parse(`cd sub && make 2>&1 | tee "$LOG"`, "/srv/proj", "/home/ann")
//	for _, c := range s.Commands {
//		fmt.Println(c.String(), c.Dirs) // cd sub [/srv/proj]; make [/srv/proj/sub]; tee "$LOG" …
//	}
//
// Nothing about a command is certain if Err is set; its parts do not tell what the
// whole does if Opaque is; where it writes is hidden if Untraced is. A word says
// what it is when the shell has read it, as far as that can be known: Marks stand
// for the rest.
//
// Laws:
//
//   - Every simple command is found, in substitutions, functions, here-documents
//     and in the arguments of programs that run others (TestEveryCommandIsFound,
//     FuzzParseFindsEveryCommand).
//   - A directory is listed unless it is certain that the command does not run
//     there; if that cannot be known there is none (TestDirectoriesAreFollowed).
//   - A Fixed word reaches the program exactly as its Text says
//     (TestFixedWordsAreWhatTheShellMakesOfThem).
//   - Whatever the text, Parse ends: length, nesting and the number of commands are
//     bounded (TestHostileTextsEnd).
//
// Not promised: a tilde after "=" in an argument is kept, though bash replaces it.
package shell
