package config

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

func TestEveryKeyIsDocumented(t *testing.T) {
	keys := Keys()
	for _, k := range keys {
		if len(k.Doc) < len("host:port, or off.") {
			t.Errorf("%s: %q says too little; document it in lethe.yaml", k.Path, k.Doc)
		}
	}
	known := map[string]bool{}
	for _, k := range keys {
		for path := k.Path; path != ""; {
			known[path] = true
			path = path[:max(0, strings.LastIndex(path, "."))]
		}
	}
	for path := range commentsOf(initText) {
		if !known[path] {
			t.Errorf("lethe.yaml has %s, which is no key", path)
		}
	}
}

const manual = "../../docs/configuration.md"

func TestManualIsCurrent(t *testing.T) {
	want := manualText()
	if *update {
		if err := os.WriteFile(manual, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(manual)
	if err != nil || string(got) != want {
		t.Errorf("docs/configuration.md is out of date (%v): go test ./internal/config -update", err)
	}
}

const manualHead = `# Configuration

Lethe runs without any: data in ` + "`./lethe-data`" + `, a ledger in SQLite, one folder for the bytes, a cache of 64 MiB in the process.
To change something, write a file with all keys, their defaults and what they mean, and keep what you need of it:

    lethe config init > lethe.yaml
    lethe config validate --config lethe.yaml
    lethe serve --config lethe.yaml

Each key can be set in three places; later ones win:

1. the file: what it leaves out has the default, what it has too much is an error, shown with line and column;
2. the environment: the variable beside each key below; an empty one counts as not set. A variable that begins with
   ` + "`LETHE_`" + ` and is not listed here is only worth a warning, as container platforms make such names by themselves;
3. flags: ` + "`--set cache.size=1GiB`" + `.

` + "`lethe config print`" + ` shows the outcome, with secrets redacted.

Forms of values:

- **durations**: ` + "`90s`, `15m`, `12h`, `30d`, `2w`, `1d12h`" + `, up to 100 years, or ` + "`none`" + `. A day has 24 hours.
- **sizes**: ` + "`512KiB`, `64MiB`, `1.5GiB`, `5GB`" + `, bytes as ` + "`1024`, or `none`" + `.
- **lists** in the environment and in flags: separated by commas. Backends are written there as in the file, on one line:
  ` + "`LETHE_BACKENDS='[{name: main, kind: dir, path: /mnt/blobs}]'`" + `, or
  ` + "`[{name: cloud, kind: s3, s3: {endpoint: https://s3.example.org, bucket: lethe, access_key: A, secret_key_file: /run/secrets/s3}}]`" + `.
- **secrets**: each can come from a file instead (` + "`..._file`" + `), as container platforms hand them out; none is ever logged or printed.
- **schedules**: an interval, ` + "`every 1m`" + `, or a cron expression with a time zone and an end of the window:

      schedule:
        cron: "0 0 * * *"
        zone: Europe/Berlin
        until: "06:00"

  From midnight the routine works until nothing is due; at 06:00 it rests until the next midnight, and goes on then.
  A process that starts while the window is open begins at once. Without ` + "`until`" + ` no window is open: it waits for the next midnight.
  With ` + "`every: 5m`" + ` beside it, it looks again every five minutes while the window is open. On one line, as in the
  environment: ` + "`cron \"0 0 * * *\" zone Europe/Berlin until 06:00 every 5m`" + `. Without a zone it is UTC; ` + "`Local`" + ` is the machine's.
  The five fields are minute, hour, day of month, month and day of week; if both days are restricted, either may match.
  When clocks go forward past a time, the instant of the change counts; when they go back, the first of the two does,
  except that an hour of ` + "`*`" + ` runs through both.

This page is made from the file that ` + "`lethe config init`" + ` writes.

| key | default | variable | meaning |
|---|---|---|---|
`

func manualText() string {
	var b strings.Builder
	b.WriteString(manualHead)
	cell := strings.NewReplacer("|", "\\|", "\n", " ")
	for _, k := range Keys() {
		row := []string{code(k.Path), code(cell.Replace(k.Default)), code(k.Env), cell.Replace(k.Doc)}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
