package ledger

// digest is the blob's own, if it is fixed before the upload.
func (in Intent) FixedDigest() string {
	if in.Promotion != nil {
		for _, u := range in.Promotion.Commit.Blobs {
			if u.Blob == in.ID {
				return u.Digest
			}
		}
	}
	return ""
}
