// Trades the invitation behind # for a visit. Nothing before the script ran has sent it anywhere.
const told = document.getElementById("told");
const code = new URLSearchParams(location.hash.slice(1)).get("code");

if (code) {
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("/ui/enter", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const said = await answer.json();
  if (answer.ok) location.replace(said.path);
  else told.textContent = said.error;
}
