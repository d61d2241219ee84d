// Package bucket keeps objects in a JetStream object store, for those who have not
// the files of their sender: processes of the session elsewhere, and members that
// read through the session.
//
//	b, err := bucket.New(nc, name, bucket.Options{})
//	err = b.Put(ctx, ref, func() ([]byte, error) { return objects.Get(ref) }) // the sender
//	body, err := b.Get(ctx, ref)                                              // the receiver
//
// The files of internal/object are the truth and the bucket is a wire, as the stream
// of the mail is: it may lose what it has, and is filled again out of the files.
//
// Laws:
//
//   - What Put has returned for was stored by the server, under the hash of what it
//     holds; another object under that name is replaced (TestPutReplacesWhatIsNotTheObject).
//   - Get returns the bytes that were put or an error, never others
//     (TestAWrongObjectIsNotReturned).
//   - Sweep takes out what nobody needs any more and is older than its grace, and
//     nothing else. Taking out too much does no harm: a message that is on its way is
//     sent again, and each time its object is put if it is missing
//     (TestSweepTakesWhatNobodyNeeds).
package bucket
