// Pages work without this script. With it they refresh themselves, texts can be copied,
// files can be dropped on a folder, and times also show in the browser's zone.
"use strict";

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

function enhance(root) {
  for (const t of root.querySelectorAll("time[datetime]")) {
    const at = new Date(t.dateTime);
    if (!isNaN(at)) t.title = t.title.split(" · ")[0] + " · " + local.format(at) + " here";
  }
  for (const b of root.querySelectorAll("[data-copy]")) b.hidden = !navigator.clipboard;
}

// busy reports that a person is at work in a part of the page: it is left alone.
function busy(part) {
  const chosen = document.getSelection();
  return part.querySelector("details[open]") || (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) ||
    (chosen && !chosen.isCollapsed && part.contains(chosen.anchorNode));
}

// refresh fetches the page again, and puts in the parts that are live and have changed.
async function refresh() {
  const answer = await fetch(location.href, { headers: { "X-Console-Refresh": "1" }, credentials: "same-origin" });
  if (answer.status === 401) return location.reload();
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = fresh.getElementById(part.id);
    if (!other || busy(part)) continue;
    enhance(other);
    if (other.innerHTML === part.innerHTML && other.className === part.className) continue;
    const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    part.className = other.className;
    part.replaceChildren(...other.childNodes);
    if (focused) part.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  }
}

function keepFresh() {
  const every = Number(document.getElementById("main")?.dataset.refresh) * 1000;
  if (!every) return;
  const again = async () => {
    if (document.visibilityState === "visible") await refresh().catch(() => {});
    setTimeout(again, every);
  };
  setTimeout(again, every);
}

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    navigator.clipboard.writeText(copy.previousElementSibling.textContent).then(() => {
      copy.textContent = "Copied";
      setTimeout(() => { copy.textContent = "Copy"; }, 1500);
    });
  }
  for (const open of document.querySelectorAll("details.act[open], details.menu[open]")) {
    if (!open.contains(event.target)) open.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const open of document.querySelectorAll("details.act[open], details.menu[open]")) {
      open.open = false;
      open.querySelector("summary").focus();
    }
  }
  if (event.key === "/" && !event.target.closest("input, textarea, select")) {
    const find = document.getElementById("find");
    if (find) {
      event.preventDefault();
      find.focus();
    }
  }
});

// send uploads the form's files with their progress.
function send(form, files) {
  const data = new FormData();
  for (const field of form.querySelectorAll("input:not([type=file])")) data.append(field.name, field.value);
  for (const file of files) data.append("file", file, file.name);
  const shown = form.querySelector("progress");
  const request = new XMLHttpRequest();
  shown.hidden = false;
  request.upload.addEventListener("progress", (p) => { if (p.lengthComputable) shown.value = p.loaded / p.total; });
  request.addEventListener("loadend", () => location.reload());
  request.open("POST", form.action);
  request.setRequestHeader("X-Console-Refresh", "1"); // what is to be said waits for the page
  request.send(data);
}

for (const area of document.querySelectorAll("[data-drop]")) {
  const form = document.getElementById(area.dataset.drop);
  if (!form) continue;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, form.querySelector("input[type=file]").files);
  });
  const over = (on) => (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    area.classList.toggle("over", on);
  };
  area.addEventListener("dragover", over(true));
  area.addEventListener("dragleave", over(false));
  area.addEventListener("drop", (event) => {
    over(false)(event);
    if (event.dataTransfer?.files.length) send(form, event.dataTransfer.files);
  });
}

// The simulation of rules follows what is typed.
const editor = document.getElementById("editor");
if (editor) {
  let waiting = 0, latest = 0, running;
  const simulate = async () => {
    const mine = ++latest;
    running?.abort(); // the server stops reading the bucket for it
    running = new AbortController();
    const body = new URLSearchParams(new FormData(editor));
    const answer = await fetch(editor.action, { method: "POST", body, headers: { "X-Console-Refresh": "1" }, credentials: "same-origin", signal: running.signal });
    if (!answer.ok || mine !== latest) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("outcome");
    if (!fresh) return;
    enhance(fresh);
    document.getElementById("outcome").replaceChildren(...fresh.childNodes);
  };
  editor.addEventListener("input", (event) => {
    if (!event.target.matches("#rules, #days")) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => simulate().catch(() => {}), 500);
  });
}

enhance(document);
keepFresh();
// On a narrow screen the pages are a row that scrolls.
document.querySelector(".side a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
