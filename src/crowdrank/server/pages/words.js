// What the annotator's page says, in the language of the study. To add a language, add a column.

const LANGUAGES = ["en", "de", "fr"];

const WORDS = {
  start: ["Start", "Beginnen", "Commencer"],
  proceed: ["Continue", "Weiter", "Continuer"],
  try: ["Practise first", "Erst üben", "S’entraîner d’abord"],
  practice: ["Practice: nothing here counts", "Übung: nichts davon zählt", "Entraînement : rien ne compte ici"],
  leave_practice: ["End practice", "Übung beenden", "Finir l’entraînement"],
  practice_done: ["That was the practice.", "Das war die Übung.", "Fin de l’entraînement."],
  practice_right: ["As expected.", "Wie erwartet.", "Comme attendu."],
  practice_wrong: ["Expected: {answer}", "Erwartet: {answer}", "Réponse attendue : {answer}"],
  your_name: ["Your name", "Ihr Name", "Votre nom"],
  invited_only: [
    "This study is by invitation. Please open the link from your invitation.",
    "An dieser Studie nimmt man auf Einladung teil. Bitte öffnen Sie den Link aus Ihrer Einladung.",
    "Cette étude est sur invitation. Ouvrez le lien reçu avec votre invitation.",
  ],
  keys: ["You can judge by keyboard: {keys}.", "Es geht auch mit der Tastatur: {keys}.", "Le clavier suffit : {keys}."],
  keys_pairs: ["← left, → right", "← links, → rechts", "← gauche, → droite"],
  keys_tie: ["↓ equal", "↓ gleich", "↓ égalité"],
  keys_grades: ["1 to {n} for the grades", "1 bis {n} für die Noten", "1 à {n} pour les notes"],
  keys_rankings: [
    "↑ ↓ move an item, Enter stores the order",
    "↑ ↓ verschieben, Enter speichert die Reihenfolge",
    "↑ ↓ pour déplacer, Entrée pour enregistrer l’ordre",
  ],
  keys_all: ["S skip, U undo", "S überspringen, U rückgängig", "S passer, U annuler"],
  choose: ["This one", "Dieses", "Celui-ci"],
  left: ["Left", "Links", "Gauche"],
  right: ["Right", "Rechts", "Droite"],
  tie: ["About equal", "Etwa gleich", "À peu près égaux"],
  skip: ["Skip", "Überspringen", "Passer"],
  undo: ["Undo", "Rückgängig", "Annuler"],
  best: ["Best", "Am besten", "Meilleur"],
  worst: ["Last", "Zuletzt", "Dernier"],
  store_order: ["Store this order", "Reihenfolge speichern", "Enregistrer cet ordre"],
  move: [
    "Move {item}, place {place} of {n}. Up and down arrow keys move it.",
    "{item} verschieben, Platz {place} von {n}. Pfeiltasten nach oben und unten verschieben.",
    "Déplacer {item}, place {place} sur {n}. Les flèches haut et bas déplacent.",
  ],
  up: ["Move {item} up", "{item} nach oben", "Monter {item}"],
  down: ["Move {item} down", "{item} nach unten", "Descendre {item}"],
  same: [
    "{item}: same place as the one above",
    "{item}: gleicher Platz wie darüber",
    "{item} : même place qu’au-dessus",
  ],
  moved: ["{item}: place {place} of {n}", "{item}: Platz {place} von {n}", "{item} : place {place} sur {n}"],
  item: ["Item {n}", "Element {n}", "Élément {n}"],
  progress: ["{done} of {limit}", "{done} von {limit}", "{done} sur {limit}"],
  done: ["{done} done", "{done} erledigt", "{done} faits"],
  progress_label: ["Your progress", "Ihr Fortschritt", "Votre progression"],
  unsent: ["{n} unsent", "{n} nicht gesendet", "{n} non envoyés"],
  offline: ["Offline", "Offline", "Hors ligne"],
  offline_queue: [
    "No connection. Your answers are kept here and sent later.",
    "Keine Verbindung. Ihre Antworten bleiben hier und werden später gesendet.",
    "Pas de connexion. Vos réponses restent ici et partiront plus tard.",
  ],
  history: ["My answers", "Meine Antworten", "Mes réponses"],
  history_empty: ["No answers yet.", "Noch keine Antworten.", "Pas encore de réponse."],
  edit: ["Change", "Ändern", "Modifier"],
  editing: ["Change your answer", "Antwort ändern", "Modifier votre réponse"],
  cancel: ["Cancel", "Abbrechen", "Annuler"],
  close: ["Close", "Schließen", "Fermer"],
  instructions: ["Instructions", "Anleitung", "Consignes"],
  skipped: ["Skipped", "Übersprungen", "Passé"],
  tied: ["About equal: {items}", "Etwa gleich: {items}", "À peu près égaux : {items}"],
  better: ["{winner} over {others}", "{winner} vor {others}", "{winner} devant {others}"],
  stored: ["Stored.", "Gespeichert.", "Enregistré."],
  changed: ["Changed.", "Geändert.", "Modifié."],
  undone: ["Undone.", "Rückgängig gemacht.", "Annulé."],
  nothing_to_undo: ["There is nothing to undo.", "Es gibt nichts rückgängig zu machen.", "Il n’y a rien à annuler."],
  undo_offline: [
    "This answer was already sent. To undo it, a connection is needed.",
    "Diese Antwort ist schon gesendet. Zum Rückgängigmachen wird eine Verbindung gebraucht.",
    "Cette réponse est déjà envoyée. Pour l’annuler, il faut une connexion.",
  ],
  refused: [
    "An answer was not accepted: {error}",
    "Eine Antwort wurde abgelehnt: {error}",
    "Une réponse a été refusée : {error}",
  ],
  loading: ["One moment …", "Einen Moment …", "Un instant …"],
  thanks: ["Thank you!", "Vielen Dank!", "Merci !"],
  pausing: ["A short break", "Kurze Pause", "Petite pause"],
  limit_reached: [
    "You have answered all questions meant for you.",
    "Sie haben alle Fragen beantwortet, die für Sie bestimmt waren.",
    "Vous avez répondu à toutes vos questions.",
  ],
  no_more: ["There are no more questions.", "Es gibt keine weiteren Fragen.", "Il n’y a plus de questions."],
  closed: ["The study is closed.", "Die Studie ist beendet.", "L’étude est terminée."],
  frozen: ["The study is closed.", "Die Studie ist beendet.", "L’étude est terminée."],
  paused: [
    "The study is paused. This page goes on by itself.",
    "Die Studie pausiert. Diese Seite geht von selbst weiter.",
    "L’étude est en pause. Cette page reprendra d’elle-même.",
  ],
  leased_out: [
    "Others are answering the remaining questions. This page goes on by itself.",
    "Andere beantworten gerade die übrigen Fragen. Diese Seite geht von selbst weiter.",
    "D’autres répondent aux dernières questions. Cette page reprendra d’elle-même.",
  ],
  unreachable: [
    "The server cannot be reached. This page tries again by itself.",
    "Der Server ist nicht erreichbar. Diese Seite versucht es von selbst wieder.",
    "Le serveur est injoignable. Cette page réessaiera d’elle-même.",
  ],
};

let column = 0;

/** `language` as in the study: "de", "de-AT"; English where it is not in the table. */
export function speak(language) {
  column = Math.max(
    0,
    LANGUAGES.indexOf(
      String(language ?? "en")
        .slice(0, 2)
        .toLowerCase(),
    ),
  );
  document.documentElement.lang = LANGUAGES[column];
}

/** t("progress", {done: 3, limit: 10}) */
export function t(name, values = {}) {
  return WORDS[name][column].replace(/\{(\w+)\}/g, (_, each) => values[each] ?? "");
}

export const known = (name) => name in WORDS;
