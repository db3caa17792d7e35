// The annotator's page: welcome, practice, questions.

import { call, Memory, takeFragment } from "./api.js";
import { button, h } from "./dom.js";
import { wordsFor } from "./history.js";
import { aboutOf, Judging } from "./judging.js";
import { capital, notify, say, showQuestion, showWords } from "./view.js";
import { speak, t } from "./words.js";

const AGAIN = 5000; // milliseconds until the server is asked again
const session = new Memory(":session");
const invitation = new Memory(":invitation");
let study;

async function main() {
  const fresh = takeFragment("invite");
  if (fresh) invitation.set(fresh);
  study = await loaded();
  speak(study.language);
  document.title = study.title;
  const known = session.get();
  const invite = invitation.get();
  if (known && (!invite || invite === known.invite)) judge(known);
  else welcome(invite);
}

/** The study, as soon as the server can be reached. */
async function loaded() {
  for (;;) {
    try {
      return await call("GET", "/study");
    } catch (error) {
      speak(navigator.language);
      if (!error.passing) {
        showWords("crowdrank", h("p", {}, capital(error.message)));
        throw error;
      }
      showWords("crowdrank", h("p", {}, t("unreachable")));
      await new Promise((ready) => setTimeout(ready, AGAIN));
    }
  }
}

function welcome(invite, message) {
  const listed = study.access === "listed" && !invite;
  const closed = study.state === "closed" || study.state === "frozen";
  const uninvited = study.access === "invited" && !invite;
  const name = h("input", { id: "name", autocomplete: "name", maxlength: "200", required: true });
  const start = async (event) => {
    event.preventDefault();
    try {
      const body = invite ? { invite } : listed ? { annotator: name.value.trim() } : {};
      const { annotator, token } = await call("POST", "/join", { body });
      const joined = { annotator, token, invite };
      session.set(joined);
      invitation.remove();
      judge(joined);
    } catch (error) {
      notify(error.passing ? t("unreachable") : error.message);
    }
  };
  showWords(
    study.title,
    aboutOf(study),
    message && h("p.warning", {}, capital(message)),
    closed ? h("p.warning", {}, t("closed")) : uninvited && h("p.warning", {}, t("invited_only")),
    h(
      "form",
      { onsubmit: start },
      listed && !closed && h("label", { for: "name" }, t("your_name"), name),
      !closed && !uninvited && h("button.main", { type: "submit" }, t("start")),
      study.practice?.length > 0 && button("", t("try"), () => practise(invite)),
    ),
  );
}

/** Practice questions are answered here and never sent. */
function practise(invite, number = 0, feedback = "") {
  const question = study.practice[number];
  if (feedback) notify(feedback);
  if (!question) {
    welcome(invite);
    say(t("practice_done"));
    return;
  }
  showQuestion(question, study, {
    banner: `${t("practice")} · ${number + 1} / ${study.practice.length}`,
    leave: { text: t("leave_practice"), action: () => welcome(invite) },
    submit: (fields) => practise(invite, number + 1, feedbackOn(question, fields)),
    skip: () => practise(invite, number + 1),
    undo: number > 0 ? () => practise(invite, number - 1) : null,
  });
}

function feedbackOn(question, fields) {
  if (!question.answer) return "";
  const scale = study.scale ?? [];
  const wanted = wordsFor(question, question.answer, scale);
  const right = wordsFor(question, fields, scale) === wanted;
  return right ? t("practice_right") : t("practice_wrong", { answer: wanted });
}

function judge(known) {
  const signOut = (error) => {
    session.remove();
    welcome(invitation.get(), error.message);
  };
  new Judging(study, known, signOut).start();
}

main();
