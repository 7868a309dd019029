// What is not saved yet, in this browser.

export class Drafts {
  constructor(model) {
    this.name = `palmette-draft-${model}-`;
  }

  get(id) {
    try {
      const found = JSON.parse(localStorage.getItem(this.name + id));
      return Array.isArray(found) ? { labels: found } : found;
    } catch {
      return null;
    }
  }

  put(id, value) {
    try {
      localStorage.setItem(this.name + id, JSON.stringify(value));
    } catch {
      // no room, or not allowed: the page goes on without drafts
    }
  }

  remove(id) {
    localStorage.removeItem(this.name + id);
  }
}
