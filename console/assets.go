package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
)

//go:embed assets
var embedded embed.FS

// media are the types of the files, whatever the machine's own table says.
var media = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// asset is a file that pages load, under a name that changes with it.
type asset struct {
	body  []byte
	media string
}

// assets are files by their names in URLs, and those names by the files' own.
type assets struct {
	files map[string]asset
	urls  map[string]string
}

// loadAssets reads what is embedded.
func loadAssets() assets {
	a := assets{files: map[string]asset{}, urls: map[string]string{}}
	// It is part of the program: nothing can fail.
	list, _ := embedded.ReadDir("assets")
	for _, f := range list {
		body, _ := embedded.ReadFile("assets/" + f.Name())
		sum := sha256.Sum256(body)
		name := hex.EncodeToString(sum[:6]) + "-" + f.Name()
		a.files[name] = asset{body, media[path.Ext(f.Name())]}
		a.urls[f.Name()] = "/assets/" + name
	}
	return a
}

// url returns the address of a file.
func (a assets) url(name string) string { return a.urls[name] }

func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	f, ok := a.files[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.media)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	// A client that has disconnected needs no response.
	_, _ = w.Write(f.body)
}
