// Package shell parses a shell command without running it: which simple
// commands it contains, at every depth, with which words and redirections, and in
// which directories each may run. It also knows what common programs do with their
// arguments. It judges nothing; internal/permission does.
//
//	s := shell.Parse(`cd sub && make 2>&1 | tee "$LOG"`, "/srv/proj", "/home/ann")
//	for _, c := range s.Commands {
//		fmt.Println(c.String(), c.Dirs) // cd sub [/srv/proj]; make [/srv/proj/sub]; tee "$LOG" …
//	}
//
// If Script.Err is set, nothing about the command is certain; if Opaque is set, its
// parts do not show what the whole does; if Untraced is set, it is not known where
// it writes. The Text of a word is what the shell makes of it, with ExpansionMarks
// for what cannot be known.
//
// Laws:
//
//   - Every simple command is found, in substitutions, functions, here-documents
//     and in the arguments of programs that run others (TestEveryCommandIsFound,
//     FuzzParseFindsEveryCommand).
//   - A directory is listed unless it is certain that the command does not run
//     there; if that cannot be known there is none (TestDirectoriesAreFollowed).
//   - A Fixed word reaches the program exactly as its Text
//     (TestFixedWordsAreWhatTheShellPasses).
//   - Whatever the text, Parse ends: length, nesting and the number of commands are
//     bounded (TestHostileTextsAreParsedInBoundedTime).
//
// Not promised: a tilde after "=" in an argument is kept, though bash replaces it.
package shell
