// Package doctor is the command of that name: it checks what the program needs on a
// machine and in a directory, one finding a line, and starts nothing.
//
//	c := doctor.New(&cli.Console{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
//	err := c.Execute() // says how many checks failed
//
// Laws:
//
//   - Every check is made, also after one has failed, and one that failed is in the
//     error (TestEveryCheckIsMade).
//   - Credentials are named and never printed (TestCredentialsAreNamedAndNeverPrinted).
package doctor
