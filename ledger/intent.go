package ledger

// FixedDigest returns the blob's own digest if that is fixed before the upload, else "".
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
