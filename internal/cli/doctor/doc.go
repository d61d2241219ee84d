// Package doctor is the command doctor: it checks what the program needs on a machine
// and in a directory, and prints one finding a line. It starts nothing.
//
//	c := doctor.New(&cli.Console{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
//	err := c.Execute() // the error counts the failed checks
//
// Laws:
//
//   - Every check is made, even after one has failed, and the error counts the failures
//     (TestEveryCheckIsMade).
//   - Credentials are named and never printed (TestCredentialsAreNamedAndNeverPrinted).
package doctor
