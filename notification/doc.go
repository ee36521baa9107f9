// Package notification is what applications are told about objects: the rules of a bucket,
// in S3's form, and the messages. Rules are values: here are their meaning, their XML and
// stored forms, and the checks that refuse them. The ledger applies them in the transaction
// that makes or removes an object, and the engine delivers.
package notification
